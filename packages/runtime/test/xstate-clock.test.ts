import { describe, expect, it } from "vitest";
import { createActor, createMachine } from "xstate";
import { VirtualClock } from "../src/virtual-clock.ts";
import { xstateClock } from "../src/xstate-clock.ts";

describe("xstateClock", () => {
  it("runs a machine's delays on the given clock, and cancels them", async () => {
    const clock = new VirtualClock();
    const machine = createMachine({
      initial: "a",
      states: {
        a: { after: { 100: "b" } },
        b: { after: { 100: "c" }, on: { skip: "d" } },
        c: {},
        d: {},
      },
    });
    const actor = createActor(machine, { clock: xstateClock(clock) }).start();

    await clock.advanceBy(100);
    expect(actor.getSnapshot().value).toBe("b");
    actor.send({ type: "skip" });
    await clock.advanceBy(1_000);

    expect(actor.getSnapshot().value).toBe("d");
    expect(clock.pendingTimers).toBe(0);
  });
});
