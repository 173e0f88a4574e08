import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { inSlices } from "../../src/prepare/in-slices.ts";

describe("work in slices", () => {
  it("lets others run every 4 ms and goes on to its end", async () => {
    const clock = new VirtualClock();
    let nowMs = 0;
    let yields = 0;
    let left = 10;
    const slow = {
      nowMs: () => nowMs,
      setTimer: clock.setTimer.bind(clock),
      setRepeating: clock.setRepeating.bind(clock),
      sleep: clock.sleep.bind(clock),
      yield: () => {
        yields += 1;
        return Promise.resolve();
      },
    };
    const work = {
      step: () => {
        nowMs += 2;
        left -= 1;
        return left === 0;
      },
    };

    await inSlices(slow, work, 1);

    expect(left).toBe(0);
    expect(yields).toBe(4);
  });
});
