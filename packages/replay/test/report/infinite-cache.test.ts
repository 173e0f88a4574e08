import { describe, expect, it } from "vitest";
import { infiniteCache } from "../../src/report/infinite-cache.ts";
import { planArrivals } from "../../src/trace/plan-arrivals.ts";
import { readTraceFile } from "../../src/trace/read-trace-file.ts";
import type { TraceRow } from "../../src/trace/trace-row.ts";
import { dynamoTrace, rowOf } from "../support/builders.ts";

const ratesOf = (rows: readonly TraceRow[], blockSize = 512) =>
  infiniteCache(planArrivals(rows, { speed: 1, limit: null }), { blockSize, traceBlockSize: 512 });

describe("a cache without end", () => {
  it("finds the published share of a known trace", () => {
    const rows = readTraceFile(dynamoTrace("mooncake_trace_1000.jsonl.gz"), 512);

    expect(ratesOf(rows).hitRate).toBeCloseTo(0.3799, 4);
  });

  it("finds partial blocks too; engines reuse full ones that do not hold the last token", () => {
    const rows = [
      rowOf({ ids: [1, 2], promptTokens: 600 }),
      rowOf({ stampMs: 1, ids: [1, 2], promptTokens: 600 }),
      rowOf({ stampMs: 2, ids: [1], promptTokens: 512 }),
    ];

    expect(ratesOf(rows)).toEqual({ hitRate: 3 / 5, reusableHitRate: 1 / 5 });
  });

  it("counts smaller blocks where an id is several", () => {
    const rows = [rowOf({ ids: [1, 2] }), rowOf({ stampMs: 1, ids: [1, 3], promptTokens: 700 })];

    expect(ratesOf(rows, 64).hitRate).toBe(8 / (16 + 11));
  });

  it("finds nothing where nothing is known of contents", () => {
    const row = { ...rowOf(), hashIds: null };

    expect(ratesOf([row, row]).hitRate).toBe(0);
  });
});
