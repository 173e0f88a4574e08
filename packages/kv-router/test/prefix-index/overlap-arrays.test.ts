import { describe, expect, it } from "vitest";
import { createOverlaps } from "../../src/index.ts";
import {
  extendOverlap,
  growOverlaps,
  resetOverlaps,
} from "../../src/prefix-index/overlap-arrays.ts";

describe("the arrays of a result", () => {
  it("grow as needed and are zero after a reset", () => {
    const overlaps = createOverlaps();
    resetOverlaps(overlaps, 3);
    overlaps.device.set([1, 2, 3]);
    const { device } = overlaps;

    resetOverlaps(overlaps, 2);

    expect(overlaps.device).toBe(device);
    expect([...overlaps.device.subarray(0, 3)]).toEqual([0, 0, 0]);
    resetOverlaps(overlaps, 1_000);
    expect(overlaps.device.length).toBeGreaterThanOrEqual(1_000);
    expect(overlaps.length).toBe(1_000);
  });

  it.each([5, 500])("keep what they say when they grow to %i", (length) => {
    const overlaps = createOverlaps();
    resetOverlaps(overlaps, 2);
    overlaps.host.set([4, 5]);
    overlaps.host[2] = 9;

    growOverlaps(overlaps, length);
    growOverlaps(overlaps, 1);

    expect([...overlaps.host.subarray(0, 5)]).toEqual([4, 5, 0, 0, 0]);
    expect(overlaps.length).toBe(length);
  });
});

describe("crediting a rank", () => {
  const credited = (...runs: readonly (readonly [tier: number, start: number, end: number])[]) => {
    const overlaps = createOverlaps();
    resetOverlaps(overlaps, 1);
    const went = runs.map(([tier, start, end]) => extendOverlap(overlaps, 0, tier, start, end));
    return { went, tiers: [overlaps.device[0], overlaps.host[0], overlaps.disk[0]] };
  };

  it("goes on from tier to tier", () => {
    expect(credited([0, 0, 2], [1, 2, 5], [2, 5, 6], [2, 6, 9])).toEqual({
      went: [true, true, true, true],
      tiers: [2, 3, 4],
    });
  });

  it("ends at a gap", () => {
    expect(credited([0, 0, 2], [0, 3, 5], [1, 3, 5])).toEqual({
      went: [true, false, false],
      tiers: [2, 0, 0],
    });
  });

  it("does not go back to a faster tier", () => {
    expect(credited([1, 0, 1], [0, 1, 2], [2, 1, 2], [1, 2, 3]).tiers).toEqual([0, 1, 1]);
  });

  it("counts a block that is on several tiers on the fastest", () => {
    expect(credited([0, 0, 3], [1, 0, 3], [2, 0, 3]).tiers).toEqual([3, 0, 0]);
  });
});
