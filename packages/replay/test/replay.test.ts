import { describe, expect, it } from "vitest";
import { readTraceFile, replay } from "../src/index.ts";
import { createStageCore } from "../src/sim/create-stage-core.ts";
import { dynamoTrace, optionsOf } from "./support/builders.ts";

const rows = readTraceFile(dynamoTrace("mooncake_trace_1000.jsonl.gz"), 512);
const trace = { name: "excerpt", rows };
const options = optionsOf({ policy: "kv", shape: { kind: "aggregated", workers: 4 }, limit: 60 });

describe("a replay", () => {
  it("gives the same report again, and another digest with another seed or policy", () => {
    const digestOf = (changes: Parameters<typeof optionsOf>[0] = {}) =>
      replay(trace, { ...options, ...changes }).report.digest;

    const first = replay(trace, options).report;

    expect(replay(trace, options).report).toEqual(first);
    expect(digestOf({ seed: 2 })).not.toBe(first.digest);
    expect(digestOf({ policy: "round-robin" })).not.toBe(first.digest);
  });

  it("stands between the policy that looks at no cache and the bounds", () => {
    const { hit_rate, baseline, bounds } = replay(trace, options).report;

    expect(hit_rate).toBeGreaterThan(baseline?.hit_rate ?? 1);
    expect(hit_rate).toBeLessThanOrEqual(bounds.pooled.hit_rate);
    expect(bounds.pooled.hit_rate).toBeLessThanOrEqual(bounds.infinite.reusable_hit_rate);
    expect(bounds.infinite.reusable_hit_rate).toBeLessThanOrEqual(bounds.infinite.hit_rate);
  });

  it("needs no baseline where it is one", () => {
    const { report, baseline } = replay(trace, { ...options, policy: "least-loaded", limit: 20 });

    expect([report.baseline, baseline]).toEqual([null, null]);
  });

  it("routes by cores of one's own", () => {
    const parameters = { router_temperature: 2 };
    const own = replay(trace, options, {
      own: {
        name: "mine",
        createCore: (stage) => createStageCore(stage, { policy: "kv", parameters }),
      },
    });

    expect(own.report.policy).toBe("mine");
    expect(own.report.digest).toBe(replay(trace, { ...options, parameters }).report.digest);
    expect(own.report.digest).not.toBe(replay(trace, options).report.digest);
  });

  it("says how far it is", () => {
    const shares: number[] = [];
    replay(trace, { ...options, limit: 10 }, { onProgress: (share) => shares.push(share) });

    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares).toHaveLength(30);
    expect(shares.at(-1)).toBe(1);
  });

  it.each(["random", "power-of-two", "two-tier"] as const)("can route by %s", (policy) => {
    const { requests, hit_rate } = replay(trace, { ...options, policy, limit: 40 }).report;

    expect(requests).toBe(40);
    expect(hit_rate).toBeGreaterThan(0);
  });
});
