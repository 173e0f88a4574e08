import { describe, expect, it } from "vitest";
import {
  hasBusyThresholds,
  type RankReading,
  WorkerBusyness,
} from "../../src/selection/busy-thresholds.ts";
import { type BusyThresholds, noBusyThresholds } from "../../src/selection/policy-options.ts";

const reading = (facts: Partial<RankReading>): RankReading => ({
  activePrefillTokens: 0,
  maxBatchedTokens: 1_000,
  reportedBlocks: null,
  bookedBlocks: null,
  totalBlocks: 100,
  ...facts,
});

const thresholds = (facts: Partial<BusyThresholds>): BusyThresholds => ({
  ...noBusyThresholds,
  ...facts,
});

/** Whether a worker of one rank is busy after each of the readings. */
function busyAfter(given: BusyThresholds, readings: readonly Partial<RankReading>[]): boolean[] {
  const worker = new WorkerBusyness();
  return readings.map((facts) => {
    worker.read(0, reading(facts), given);
    return worker.isBusy;
  });
}

describe("prompt tokens", () => {
  it("make a rank busy when they are more than the threshold, not when they reach it", () => {
    const given = thresholds({ activePrefillTokensThreshold: 500 });

    expect(
      busyAfter(given, [{ activePrefillTokens: 500 }, { activePrefillTokens: 501 }, {}]),
    ).toEqual([false, true, false]);
  });

  it("are compared with the whole part of a share of one pass", () => {
    const given = thresholds({ activePrefillTokensThresholdFrac: 0.7 });
    const odd = { maxBatchedTokens: 1_001 };

    // 0.7 of 1,001 is 700.7.
    expect(
      busyAfter(given, [
        { ...odd, activePrefillTokens: 700 },
        { ...odd, activePrefillTokens: 701 },
      ]),
    ).toEqual([false, true]);
  });

  it("pass no share of a pass whose size nobody knows", () => {
    const given = thresholds({ activePrefillTokensThresholdFrac: 0.5 });
    const unknown = { maxBatchedTokens: null };

    expect(
      busyAfter(given, [
        { ...unknown, activePrefillTokens: 5_000_000 },
        { ...unknown, activePrefillTokens: 5_000_001 },
      ]),
    ).toEqual([false, true]);
  });
});

describe("blocks", () => {
  const given = thresholds({ activeDecodeBlocksThreshold: 0.8 });

  it.each(["reportedBlocks", "bookedBlocks"])("make a rank busy by the %s alone", (signal) => {
    expect(busyAfter(given, [{ [signal]: 80 }, { [signal]: 81 }])).toEqual([false, true]);
  });

  it("keep it busy until the last count of both is not over", () => {
    expect(
      busyAfter(given, [
        { reportedBlocks: 90, bookedBlocks: 90 },
        { reportedBlocks: 10 },
        { bookedBlocks: 10 },
      ]),
    ).toEqual([true, true, false]);
  });

  it("say nothing where they are not known, and nothing of a cache whose size is not known", () => {
    expect(
      busyAfter(given, [{ reportedBlocks: 90 }, { reportedBlocks: null }, { reportedBlocks: 0 }]),
    ).toEqual([true, true, false]);
    expect(busyAfter(given, [{ totalBlocks: null, reportedBlocks: 90 }])).toEqual([false]);
  });
});

describe("a worker", () => {
  const given = thresholds({ activePrefillTokensThreshold: 10 });

  it("is busy when all of its known ranks are", () => {
    const worker = new WorkerBusyness();

    worker.read(0, reading({ activePrefillTokens: 11 }), given);
    worker.read(1, reading({ activePrefillTokens: 9 }), given);
    expect(worker.isBusy).toBe(false);
    worker.read(1, reading({ activePrefillTokens: 11 }), given);
    expect(worker.isBusy).toBe(true);
  });

  it("is not busy while nothing is known of it", () => {
    expect(new WorkerBusyness().isBusy).toBe(false);
  });

  it("follows new thresholds at the next reading", () => {
    const worker = new WorkerBusyness();
    worker.read(0, reading({ activePrefillTokens: 11, reportedBlocks: 90 }), given);

    worker.read(0, reading({ activePrefillTokens: 11, reportedBlocks: 90 }), noBusyThresholds);

    expect(worker.isBusy).toBe(false);
  });
});

it("has nothing to watch only without any threshold", () => {
  expect(hasBusyThresholds(noBusyThresholds)).toBe(false);
  expect(hasBusyThresholds(thresholds({ activeDecodeBlocksThreshold: 0 }))).toBe(true);
  expect(hasBusyThresholds(thresholds({ activePrefillTokensThreshold: 0 }))).toBe(true);
  expect(hasBusyThresholds(thresholds({ activePrefillTokensThresholdFrac: 0 }))).toBe(true);
});
