import { describe, expect, it } from "vitest";
import { planArrivals } from "../../src/trace/plan-arrivals.ts";
import type { TraceRow } from "../../src/trace/trace-row.ts";
import { rowOf } from "../support/builders.ts";

const at = (...stamps: readonly number[]) => stamps.map((stampMs) => rowOf({ stampMs }));
const timesOf = (rows: readonly TraceRow[], options: { speed?: number; limit?: number } = {}) =>
  planArrivals(rows, { speed: 1, limit: null, ...options }).map(({ atMs }) => atMs);

describe("arrivals", () => {
  it("begin at 0", () => {
    expect(timesOf(at(500, 700))).toEqual([0, 200]);
  });

  it("that share a stamp are spread evenly up to the next", () => {
    expect(timesOf(at(0, 0, 0, 3_000, 3_600))).toEqual([0, 1_000, 2_000, 3_000, 3_600]);
  });

  it("with the last stamp are spread over the time before it", () => {
    expect(timesOf(at(0, 0, 3_000, 3_000))).toEqual([0, 1_500, 3_000, 4_500]);
  });

  it("with the only stamp there is come at once", () => {
    expect(timesOf(at(5, 5))).toEqual([0, 0]);
  });

  it("come in order, whatever the order of the lines", () => {
    const arrivals = planArrivals(at(9, 0, 4), { speed: 1, limit: null });

    expect(arrivals.map(({ row }) => row.stampMs)).toEqual([0, 4, 9]);
    expect(arrivals.map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  it("come faster by the speed", () => {
    expect(timesOf(at(0, 0, 3_000), { speed: 2 })).toEqual([0, 750, 1_500]);
  });

  it("are limited without being moved", () => {
    expect(timesOf(at(0, 0, 0, 3_000), { limit: 2 })).toEqual([0, 1_000]);
  });
});

describe("turns of a session", () => {
  const turn = (stampMs: number | null, delayMs: number | null = null) =>
    rowOf({ stampMs, delayMs, sessionId: "s" });
  const plan = (rows: readonly TraceRow[], speed = 1) =>
    planArrivals(rows, { speed, limit: null }).map(({ after, delayMs }) => ({ after, delayMs }));

  it("follow each other after their delays", () => {
    expect(plan([turn(0), turn(null, 40), turn(null, 60)])).toEqual([
      { after: null, delayMs: 0 },
      { after: 0, delayMs: 40 },
      { after: 1, delayMs: 60 },
    ]);
  });

  it("without a delay wait as long as their stamps are apart", () => {
    expect(plan([turn(100), turn(350)])[1]).toEqual({ after: 0, delayMs: 250 });
  });

  it("wait shorter by the speed", () => {
    expect(plan([turn(0), turn(null, 40)], 4)[1]?.delayMs).toBe(10);
  });

  it("take no place in the spreading of a stamp, nor overtake each other by it", () => {
    const rows = [rowOf({ stampMs: 0 }), turn(0), turn(0, 5), rowOf({ stampMs: 1_000 })];

    const arrivals = planArrivals(rows, { speed: 1, limit: null });

    expect(arrivals.map(({ row, atMs }) => [rows.indexOf(row), atMs])).toEqual([
      [0, 0],
      [1, 500],
      [2, 500],
      [3, 1_000],
    ]);
    expect(arrivals.map(({ after }) => after)).toEqual([null, null, 1, null]);
  });
});
