import { describe, expect, it } from "vitest";
import { readTraceFile, replay, summaryText } from "../../src/index.ts";
import { percent, policyText } from "../../src/report/summary-text.ts";
import { dynamoTrace, optionsOf } from "../support/builders.ts";

const rows = readTraceFile(dynamoTrace("mooncake_replay_tiny.jsonl"), 512);
const { report } = replay(
  { name: "tiny", rows },
  optionsOf({ policy: "kv", parameters: { overlap_score_credit: 2 }, sloTtftMs: 500 }),
);

describe("the summary", () => {
  it("has the figures, one a line", () => {
    const lines = summaryText(report).split("\n");
    const has = (pattern: RegExp) => lines.some((line) => pattern.test(line));

    expect(has(/^trace +tiny, 16 requests, speed 1$/)).toBe(true);
    expect(has(/^workers +2 aggregated, 256 blocks of 512$/)).toBe(true);
    expect(has(/^policy +kv, overlap_score_credit 2$/)).toBe(true);
    expect(has(/^hit rate +\d+\.\d\d % of prompt blocks$/)).toBe(true);
    expect(has(/^TTFT ms +mean [\d.]+ {2}p50 [\d.]+ {2}p95 [\d.]+ {2}p99 [\d.]+$/)).toBe(true);
    expect(has(/^goodput +[\d.]+ requests\/s with TTFT ≤ 500 ms$/)).toBe(true);
    expect(has(/^pooled cache +hit rate .* mean TTFT/)).toBe(true);
    expect(has(/^least-loaded +hit rate/)).toBe(true);
    expect(has(new RegExp(`^digest +${report.digest}$`))).toBe(true);
    expect(has(/^refused/)).toBe(false);
  });

  it("tells of what was refused and of both limits", () => {
    const text = summaryText({ ...report, refused: 3, slo: { ttft_ms: 500, itl_ms: 20 } });

    expect(text).toMatch(/^refused +3 too long for any worker$/m);
    expect(text).toMatch(/with TTFT ≤ 500 ms and ITL ≤ 20 ms$/m);
  });

  it("writes shares as per cent and policies with what they were given", () => {
    expect(percent(0.36641)).toBe("36.64 %");
    expect(policyText({ ...report, parameters: {} })).toBe("kv");
  });
});
