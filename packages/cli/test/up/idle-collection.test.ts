import { ManualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { collectWhenIdle, ownUse } from "../../src/up/idle-collection.ts";

const mebibyte = 1024 * 1024;

/** A process that has begun with 100 MB; a collection leaves it 105. */
function start() {
  const clock = new ManualClock(1_000_000);
  const use = { cpu: 0, resident: 100 * mebibyte, collections: 0 };
  const timer = collectWhenIdle(clock, {
    cpuMs: () => use.cpu,
    residentBytes: () => use.resident,
    collect: () => {
      use.collections += 1;
      use.resident = 105 * mebibyte;
    },
  });
  /** Some seconds, in each of which it uses that much of a core. */
  const spend = async (seconds: number, share: number) => {
    for (let second = 0; second < seconds; second += 1) {
      use.cpu += share * 1_000;
      await clock.advanceBy(1_000);
    }
  };
  return { use, spend, timer };
}

describe("a process without work", () => {
  it("collects once what its work has left, two seconds after it", async () => {
    const { spend, use } = start();
    await spend(3, 0.9);
    use.resident = 180 * mebibyte;
    await spend(1, 0.03);
    const early = use.collections;

    await spend(1, 0.03);
    const inTime = use.collections;
    await spend(20, 0.03);

    expect([early, inTime, use.collections]).toEqual([0, 1, 1]);
  });

  it("collects again after the next burst", async () => {
    const { spend, use } = start();
    for (let burst = 0; burst < 3; burst += 1) {
      use.resident += 40 * mebibyte;
      await spend(3, 0.9);
      await spend(3, 0);
    }

    expect(use.collections).toBe(3);
  });

  it("does not while it works", async () => {
    const { spend, use } = start();
    use.resident = 180 * mebibyte;

    for (let second = 0; second < 10; second += 1) {
      await spend(1, 0);
      await spend(1, 0.5);
    }

    expect(use.collections).toBe(0);
  });

  it("does not for a few megabytes", async () => {
    const { spend, use } = start();
    use.resident = 115 * mebibyte;

    await spend(10, 0);

    expect(use.collections).toBe(0);
  });

  it("does no more when it is told to stop", async () => {
    const { spend, timer, use } = start();
    use.resident = 180 * mebibyte;
    timer.cancel();

    await spend(10, 0);

    expect(use.collections).toBe(0);
  });
});

describe("the own process", () => {
  it("gives back what is no longer in use", async () => {
    const use = ownUse();
    let garbage: Uint8Array | null = new Uint8Array(64 * mebibyte).fill(1);
    const before = use.residentBytes();
    expect(garbage.length).toBe(64 * mebibyte);

    garbage = null;
    use.collect();

    // Buffers are freed by a thread of their own.
    await expect
      .poll(() => before - use.residentBytes(), { timeout: 10_000 })
      .toBeGreaterThan(32 * mebibyte);
    expect(use.cpuMs()).toBeGreaterThan(0);
  });
});
