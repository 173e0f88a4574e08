import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { killAtExit } from "../../../src/engines/llama/kill-at-exit.ts";

class FakeChild extends EventEmitter {
  readonly signals: unknown[] = [];

  kill(signal?: unknown): boolean {
    this.signals.push(signal);
    return true;
  }
}

describe("killAtExit", () => {
  it("kills a child that still runs when its parent exits", () => {
    const [child, parent] = [new FakeChild(), new EventEmitter()];
    killAtExit(child as never, parent);
    parent.emit("exit", 0);
    expect(child.signals).toEqual(["SIGKILL"]);
  });

  it.each(["exit", "error"])("keeps nothing of a child after its %s", (event) => {
    const [child, parent] = [new FakeChild(), new EventEmitter()];
    killAtExit(child as never, parent);
    child.emit(event, event === "exit" ? 0 : new Error("no such program"));
    expect(parent.listenerCount("exit")).toBe(0);
    parent.emit("exit", 0);
    expect(child.signals).toEqual([]);
  });
});
