import { describe, expect, it } from "vitest";
import { readTraceFile, replay } from "../../src/index.ts";
import { dynamoTrace, optionsOf, rowOf } from "../support/builders.ts";

const rows = readTraceFile(dynamoTrace("mooncake_replay_tiny.jsonl"), 512);

describe("a report", () => {
  it("has the shape that scripts rely on", () => {
    const shape = { kind: "disaggregated", prefill: 2, decode: 1 } as const;

    const { report } = replay({ name: "tiny", rows }, optionsOf({ policy: "kv", shape }));

    const times = {
      mean: expect.any(Number),
      p50: expect.any(Number),
      p95: expect.any(Number),
      p99: expect.any(Number),
    };
    expect(report).toMatchObject({
      trace: "tiny",
      policy: "kv",
      workers: { prefill: 2, decode: 1 },
      requests: 16,
      refused: 0,
      output_tokens: rows.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
      hit_rate: expect.any(Number),
      ttft_ms: times,
      itl_ms: times,
      duration_s: expect.any(Number),
      goodput_rps: expect.any(Number),
      bounds: {
        pooled: { hit_rate: expect.any(Number), ttft_ms_mean: expect.any(Number) },
        infinite: { hit_rate: expect.any(Number) },
      },
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(report.per_worker.map(({ id, requests }) => [id, requests])).toEqual([
      ["prefill-0", expect.any(Number)],
      ["prefill-1", expect.any(Number)],
      ["decode-0", 16],
    ]);
  });

  it("counts as goodput what keeps both limits", () => {
    const quick = rowOf({ ids: [1], outputTokens: 4 });
    const slow = rowOf({ stampMs: 5_000, ids: [2, 3, 4, 5, 6, 7, 8, 9], outputTokens: 4 });
    const goodOf = (sloTtftMs: number | null, sloItlMs: number | null) => {
      const trace = { name: "two", rows: [quick, slow] };
      const { report } = replay(trace, optionsOf({ sloTtftMs, sloItlMs }));
      return Math.round(report.goodput_rps * report.duration_s);
    };

    expect(goodOf(null, null)).toBe(2);
    expect(goodOf(60, null)).toBe(1);
    expect(goodOf(1, null)).toBe(0);
    expect(goodOf(null, 1)).toBe(0);
    expect(goodOf(60, 60)).toBe(1);
  });

  it("counts what was refused apart from what ended", () => {
    const tooLong = rowOf({ ids: [1, 2, 3] });
    const trace = { name: "two", rows: [tooLong, rowOf({ stampMs: 1 })] };

    const { report } = replay(trace, optionsOf({ blocks: 2 }));

    expect(report).toMatchObject({ requests: 2, refused: 1 });
    expect(report.per_worker.reduce((sum, { requests }) => sum + requests, 0)).toBe(2);
  });
});
