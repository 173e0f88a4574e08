import { type Clock, VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { inSlices } from "../../src/prepare/in-slices.ts";

/** A clock that `spend` moves, and whose turns wait for `turn`. */
function slowClock() {
  const virtual = new VirtualClock();
  const waiting: (() => void)[] = [];
  let nowMs = 0;
  const clock: Clock = {
    nowMs: () => nowMs,
    setTimer: virtual.setTimer.bind(virtual),
    setRepeating: virtual.setRepeating.bind(virtual),
    sleep: virtual.sleep.bind(virtual),
    yield: () => new Promise((resolve) => void waiting.push(resolve)),
  };
  return {
    clock,
    spend: (ms: number) => {
      nowMs += ms;
    },
    /** Lets all that waits for the next turn go on, and says whether anything did. */
    turn: async () => {
      const resolvers = waiting.splice(0);
      for (const resolve of resolvers) resolve();
      for (let ticks = 0; ticks < 20; ticks += 1) await Promise.resolve();
      return resolvers.length > 0;
    },
  };
}

type SlowClock = ReturnType<typeof slowClock>;

/** Work of some steps, 2 ms each, that writes down which of them ran. */
function workOf(time: SlowClock, name: string, steps: number, log: string[], stepMs = 2) {
  let left = steps;
  return {
    step: () => {
      time.spend(stepMs);
      log.push(name);
      left -= 1;
      return left === 0;
    },
  };
}

describe("work in slices", () => {
  it("lets others run every 4 ms and goes on to its end", async () => {
    const time = slowClock();
    const log: string[] = [];
    const slices: number[] = [];
    const done = inSlices(time.clock, workOf(time, "a", 10, log), 1);
    do slices.push(log.length);
    while (await time.turn());
    await done;

    expect(slices).toEqual([2, 4, 6, 8, 10, 10]);
  });

  it("shares the loop: one work goes on in each turn", async () => {
    const time = slowClock();
    const log: string[] = [];
    const works = ["a", "b", "c"].map((name) =>
      inSlices(time.clock, workOf(time, name, 4, log), 1),
    );
    while (await time.turn());
    await Promise.all(works);

    expect(log.join("")).toBe("aaaabbccbbcc");
  });

  it("begins short work at once beside long work", async () => {
    const time = slowClock();
    const log: string[] = [];
    const long = inSlices(time.clock, workOf(time, "l", 6, log, 1), 1);
    await time.turn();
    const short = inSlices(time.clock, workOf(time, "s", 1, log, 0.1), 1);

    expect(log.join("")).toBe("lllllls");
    await Promise.all([long, short]);
  });

  it("puts new work off when the turn's time is spent", async () => {
    const time = slowClock();
    const log: string[] = [];
    const works = ["a", "b", "c"].map((name) =>
      inSlices(time.clock, workOf(time, name, 1, log, 3), 1),
    );

    expect(log.join("")).toBe("ab");
    while (await time.turn());
    await Promise.all(works);
    expect(log.join("")).toBe("abc");
  });

  it("takes no turn where no time passes", async () => {
    const clock = new VirtualClock();
    const log: string[] = [];
    const still = { ...slowClock(), spend: () => undefined };
    await inSlices(clock, workOf(still, "a", 100, log), 1);

    expect(log).toHaveLength(100);
    expect(clock.pendingTimers).toBe(0);
  });
});
