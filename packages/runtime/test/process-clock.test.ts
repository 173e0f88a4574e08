import { describe, expect, it } from "vitest";
import { ProcessClock } from "../src/process-clock.ts";
import { VirtualClock } from "../src/virtual-clock.ts";

function world() {
  const clock = new VirtualClock(0);
  const process = new ProcessClock(clock);
  const fired: string[] = [];
  return { clock, process, fired };
}

describe("ProcessClock", () => {
  it("runs as its clock does", async () => {
    const { clock, process, fired } = world();
    process.setTimer(5, () => fired.push("once"));
    process.setRepeating(4, () => fired.push(`again ${process.nowMs()}`));
    void process.sleep(6).then(() => fired.push("slept"));
    void process.yield().then(() => fired.push("yielded"));

    await clock.advanceBy(9);

    expect(fired).toEqual(["yielded", "again 4", "once", "slept", "again 8"]);
  });

  it("keeps what comes due while stopped, in order, a repeating timer once", async () => {
    const { clock, process, fired } = world();
    process.setRepeating(4, () => fired.push("again"));
    process.setTimer(5, () => fired.push("once"));
    const cancelled = process.setTimer(6, () => fired.push("cancelled"));

    process.pause();
    await clock.advanceBy(20);
    expect(fired).toEqual([]);
    cancelled.cancel();
    process.resume();

    expect(fired).toEqual(["again", "once"]);
    await clock.advanceBy(4);
    expect(fired).toEqual(["again", "once", "again"]);
  });

  it("never fires again once killed, and takes no timer", async () => {
    const { clock, process, fired } = world();
    process.setTimer(5, () => fired.push("once"));
    process.setRepeating(4, () => fired.push("again"));

    process.pause();
    await clock.advanceBy(5);
    process.kill();
    process.resume();
    process.setTimer(1, () => fired.push("after"));
    await clock.advanceBy(100);

    expect(fired).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });
});
