import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { PassClock } from "../../../src/engines/mock/pass-clock.ts";

describe("PassClock", () => {
  it("begins the next pass where the last one ended, though its timer was late", async () => {
    const clock = new VirtualClock(1_000);
    const passes = new PassClock(clock);
    expect(passes.beginMs()).toBe(1_000);
    const waiting = passes.waitUntil(1_002.5);
    await clock.advanceBy(4);
    await waiting;

    expect(passes.beginMs()).toBe(1_002.5);
  });

  it("does not make up for a pause", async () => {
    const clock = new VirtualClock(1_000);
    const passes = new PassClock(clock);
    const waiting = passes.waitUntil(1_001);
    await clock.advanceBy(500);
    await waiting;

    expect(passes.beginMs()).toBe(1_500);
  });

  it("begins at once after it was idle", async () => {
    const clock = new VirtualClock(1_000);
    const passes = new PassClock(clock);
    const waiting = passes.waitUntil(1_001);
    await clock.advanceBy(5);
    await waiting;
    passes.idle();

    expect(passes.beginMs()).toBe(1_005);
  });

  it("gives way though a pass takes no time", async () => {
    const clock = new VirtualClock(1_000);
    let isOver = false;
    const waiting = new PassClock(clock).waitUntil(1_000).then(() => {
      isOver = true;
    });
    await Promise.resolve();
    expect(isOver).toBe(false);

    await clock.advanceBy(0);
    await waiting;
    expect(clock.nowMs()).toBe(1_000);
  });
});
