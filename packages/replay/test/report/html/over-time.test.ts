import { describe, expect, it } from "vitest";
import {
  cumulativeShares,
  hitShare,
  meanTtft,
  overTime,
  sharesOver,
} from "../../../src/report/html/over-time.ts";
import type { RequestOutcome } from "../../../src/sim/measurements.ts";

const outcomeOf = (facts: Partial<RequestOutcome>): RequestOutcome => ({
  index: 0,
  arrivedMs: 0,
  ttftMs: 0,
  itlMs: 0,
  endedMs: 0,
  outputTokens: 1,
  blocksAsked: 4,
  blocksFound: 1,
  ...facts,
});

describe("what requests come to over time", () => {
  it("is told for each stretch in which some arrived, at its middle", () => {
    const outcomes = [
      outcomeOf({ arrivedMs: 0, ttftMs: 10 }),
      outcomeOf({ arrivedMs: 900, ttftMs: 30 }),
      outcomeOf({ arrivedMs: 4_000, ttftMs: 70 }),
    ];

    expect(overTime(outcomes, 4, meanTtft)).toEqual([
      [0.5, 20],
      [3.5, 70],
    ]);
    expect(overTime([], 4, meanTtft)).toEqual([]);
  });

  it("weighs requests by the blocks that they ask for", () => {
    const outcomes = [
      outcomeOf({ blocksAsked: 1, blocksFound: 1 }),
      outcomeOf({ blocksAsked: 9, blocksFound: 0 }),
    ];

    expect(hitShare(outcomes)).toBe(0.1);
    expect(hitShare([])).toBe(0);
  });
});

describe("cumulative shares", () => {
  it("rise to the whole at the largest value", () => {
    expect(cumulativeShares(Float64Array.of(3, 1, 2, 4), 2)).toEqual([
      [1, 0.25],
      [3, 0.75],
      [4, 1],
    ]);
    expect(cumulativeShares(new Float64Array(), 2)).toEqual([]);
  });
});

describe("narrow bins", () => {
  it("become shares of wide ones", () => {
    const options = { binMs: 10, durationMs: 40, count: 2 };

    expect(sharesOver([10, 5, 0, 1], options)).toEqual([0.75, 0.05]);
  });

  it("are never more than the whole, though a pass may reach over its bin", () => {
    expect(sharesOver([25], { binMs: 10, durationMs: 20, count: 2 })).toEqual([1, 0]);
  });
});
