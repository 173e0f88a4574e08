import type { KvEvent } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { type EventTarget, EventWalk } from "../../src/feed/event-walk.ts";
import { hashes, range, removed, stored } from "./feed-support.ts";

function targetWith(outcome: (first: number) => "stored" | "orphan" | "dropped" = () => "stored") {
  const calls: string[] = [];
  const first = (bytes: Uint8Array | null) => (bytes === null ? "root" : bytes[0]);
  const count = (bytes: Uint8Array) => bytes.byteLength / 8;
  const target: EventTarget = {
    store: (tier, parent, run) => {
      calls.push(`store ${tier} ${first(parent)}>${first(run)}+${count(run)}`);
      return outcome(run[0] ?? 0);
    },
    remove: (tier, run) => void calls.push(`remove ${tier} ${first(run)}+${count(run)}`),
    clear: () => void calls.push("clear"),
    orphaned: (blocks) => void calls.push(`orphaned ${blocks}`),
    dropped: () => void calls.push("dropped"),
  };
  return { target, calls };
}

describe("EventWalk", () => {
  it("hands over events as they are when there is room", () => {
    const { target, calls } = targetWith();
    const walk = new EventWalk([
      stored(null, 1, 2, 3),
      { ...removed(3), tier: "disk" } as KvEvent,
      { kind: "cleared" },
    ]);

    expect(walk.step(10, target)).toBe(5);
    expect(walk.isDone).toBe(true);
    expect(calls).toEqual(["store device root>1+3", "remove disk 3+1", "clear"]);
  });

  it("cuts a run where a step ends, and goes on under its last block", () => {
    const { target, calls } = targetWith();
    const walk = new EventWalk([stored(null, ...range(1, 7)), removed(...range(1, 4))]);
    let steps = 0;
    while (!walk.isDone) {
      walk.step(3, target);
      steps += 1;
    }

    expect(steps).toBe(4);
    expect(calls).toEqual([
      "store device root>1+3",
      "store device 3>4+3",
      "store device 6>7+1",
      "remove device 1+2",
      "remove device 3+2",
    ]);
  });

  it("leaves out the rest of a run whose parent is not there", () => {
    const { target, calls } = targetWith((first) => (first === 4 ? "orphan" : "stored"));
    const walk = new EventWalk([stored(null, ...range(1, 7)), stored(null, 9)]);
    while (!walk.isDone) walk.step(3, target);

    expect(calls.slice(1)).toEqual(["store device 3>4+3", "orphaned 4", "store device root>9+1"]);
  });

  it("says that the index has no room", () => {
    const { target, calls } = targetWith(() => "dropped");
    new EventWalk([stored(null, 1, 2)]).step(10, target);

    expect(calls).toEqual(["store device root>1+2", "dropped"]);
  });

  it("ends on events without blocks", () => {
    const { target, calls } = targetWith();
    const nothing = hashes();
    const walk = new EventWalk([
      { kind: "removed", sequenceHashes: nothing },
      { kind: "stored", parent: hashes(5), blockHashes: nothing, sequenceHashes: nothing },
    ]);

    walk.step(10, target);

    expect(walk.isDone).toBe(true);
    expect(calls).toEqual(["remove device undefined+0"]);
  });
});
