import { describe, expect, it } from "vitest";
import { VirtualClock } from "../src/virtual-clock.ts";

const startMs = 1_000;

describe("VirtualClock", () => {
  it("fires timers in the order of time, then of setting, and shows each its own time", async () => {
    const clock = new VirtualClock(startMs);
    const fired: [string, number][] = [];
    const note = (name: string) => () => void fired.push([name, clock.nowMs()]);
    clock.setTimer(20, note("c"));
    clock.setTimer(10, note("a"));
    clock.setTimer(10, note("b"));
    clock.setTimer(31, note("later"));

    await clock.advanceBy(30);

    expect(fired).toEqual([
      ["a", 1_010],
      ["b", 1_010],
      ["c", 1_020],
    ]);
    expect(clock.nowMs()).toBe(1_030);
    expect(clock.pendingTimers).toBe(1);
  });

  it("lets promise chains of any length end before the next timer fires", async () => {
    const clock = new VirtualClock(startMs);
    const seen: string[] = [];
    clock.setTimer(1, () => {
      void (async () => {
        for (let depth = 0; depth < 100; depth++) await Promise.resolve();
        seen.push("chain");
      })();
    });
    clock.setTimer(1, () => seen.push("timer"));

    await clock.advanceBy(1);

    expect(seen).toEqual(["chain", "timer"]);
  });

  it("repeats until cancelled, without drifting", async () => {
    const clock = new VirtualClock(startMs);
    const times: number[] = [];
    const timer = clock.setRepeating(10, () => {
      times.push(clock.nowMs() - startMs);
      if (times.length === 3) timer.cancel();
    });

    await clock.advanceBy(100);

    expect(times).toEqual([10, 20, 30]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("forgets a cancelled timer at once", async () => {
    const clock = new VirtualClock(startMs);
    const timer = clock.setTimer(10, () => expect.unreachable("cancelled"));
    const fired = clock.setTimer(5, () => undefined);

    timer.cancel();
    timer.cancel();
    expect(clock.pendingTimers).toBe(1);
    await clock.advanceBy(20);
    fired.cancel();

    expect(clock.pendingTimers).toBe(0);
  });

  it("wakes sleepers and yielders, the yielder after what is due already", async () => {
    const clock = new VirtualClock(startMs);
    const seen: string[] = [];
    void clock.sleep(5).then(() => seen.push(`slept ${clock.nowMs()}`));
    clock.setTimer(0, () => seen.push("due"));
    void clock.yield().then(() => seen.push("yielded"));

    await clock.advanceBy(5);

    expect(seen).toEqual(["due", "yielded", "slept 1005"]);
  });

  it("runs until idle: repeating timers do not count", async () => {
    const clock = new VirtualClock(startMs);
    let beats = 0;
    let done = false;
    clock.setRepeating(10, () => beats++);
    clock.setTimer(95, () => {
      done = true;
    });

    await clock.runUntilIdle();

    expect([done, beats, clock.nowMs()]).toEqual([true, 9, 1_095]);
  });

  it("gives up on what never gets idle", async () => {
    const clock = new VirtualClock(startMs);
    const again = () => void clock.setTimer(10, again);
    again();

    await expect(clock.runUntilIdle(1_000)).rejects.toMatchObject({ code: "internal" });
  });

  it("runs until a condition holds, and says when it does not", async () => {
    const clock = new VirtualClock(startMs);
    let ticks = 0;
    clock.setRepeating(10, () => ticks++);

    expect(await clock.runUntilTrue(() => ticks === 7)).toBe(true);
    expect(clock.nowMs()).toBe(1_070);
    expect(await clock.runUntilTrue(() => ticks === 1_000, 50)).toBe(false);
    expect(clock.nowMs()).toBeLessThanOrEqual(1_120);
  });

  it("hands on what a timer throws and refuses to be advanced twice at once", async () => {
    const clock = new VirtualClock(startMs);
    clock.setTimer(1, () => {
      throw new Error("broken");
    });
    await expect(clock.advanceBy(1)).rejects.toThrow("broken");

    const first = clock.advanceBy(10);
    await expect(clock.advanceBy(10)).rejects.toMatchObject({ code: "internal" });
    await first;
  });
});
