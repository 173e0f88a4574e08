import { describe, expect, it } from "vitest";
import { RealClock } from "../src/real-clock.ts";

describe("RealClock", () => {
  it("is the epoch in milliseconds and never goes back", () => {
    const clock = new RealClock();
    let lastMs = clock.nowMs();
    expect(Math.abs(lastMs - Date.now())).toBeLessThan(1_000);
    for (let round = 0; round < 1_000; round++) {
      const nowMs = clock.nowMs();
      expect(nowMs).toBeGreaterThanOrEqual(lastMs);
      lastMs = nowMs;
    }
  });

  it("fires once, repeats, sleeps and yields", async () => {
    const clock = new RealClock();
    const fromMs = clock.nowMs();
    let repeats = 0;
    const repeating = clock.setRepeating(2, () => repeats++);
    let now = false;
    clock.setTimer(0, () => {
      now = true;
    });

    await clock.yield();
    await clock.yield();
    expect(now).toBe(true);
    await clock.sleep(25);
    repeating.cancel();

    expect(clock.nowMs() - fromMs).toBeGreaterThanOrEqual(24);
    expect(repeats).toBeGreaterThanOrEqual(2);
  });

  it("does not fire what is cancelled, at once or later", async () => {
    const clock = new RealClock();
    for (const delayMs of [0, 3]) {
      clock.setTimer(delayMs, () => expect.unreachable("cancelled")).cancel();
    }
    await clock.sleep(10);
    // Longer than the platform's timers can count: it must not fire at once.
    const far = clock.setTimer(1e12, () => expect.unreachable("too early"));
    await clock.sleep(5);
    far.cancel();
  });
});
