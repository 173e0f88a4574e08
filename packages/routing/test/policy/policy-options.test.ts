import { defineOptions, readOptions } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { policyOptions } from "../../src/index.ts";
import { problemsOf } from "../support/policy-sources.ts";

const set = defineOptions("prefill-router", policyOptions);
const read = (flags: Readonly<Record<string, unknown>>, env = {}) =>
  readOptions(set, { flags, env });

describe("routing options", () => {
  it("say nothing unless they are given", () => {
    expect(read({})).toEqual({});
    expect(set.fields.map(({ defaultText }) => defaultText)).toEqual(set.fields.map(() => null));
  });

  it("come from flags and environment", () => {
    expect(
      read(
        { "router-mode": "two-tier", "use-kv-events": false },
        { BATON_PREFILL_ROUTER_OVERLAP_SCORE_CREDIT: "0.5" },
      ),
    ).toEqual({ routerMode: "two-tier", useKvEvents: false, overlapScoreCredit: 0.5 });
  });

  it("have the flags that are documented", () => {
    expect(set.fields.map(({ flag }) => flag)).toEqual([
      "router-mode",
      "policy-file",
      "overlap-score-credit",
      "overlap-score-credit-decay",
      "prefill-load-scale",
      "uncached-prefill-weight",
      "decode-active-request-weight",
      "router-temperature",
      "use-kv-events",
      "predicted-ttl-secs",
      "approximate-cache-policy",
      "ttl-secs",
      "track-output-blocks",
      "active-decode-blocks-threshold",
      "active-prefill-tokens-threshold",
      "active-prefill-tokens-threshold-frac",
      "session-affinity-ttl-secs",
      "session-affinity-mode",
      "min-initial-workers",
    ]);
  });

  it.each([
    ["router-mode", "fastest"],
    ["overlap-score-credit", -1],
    ["router-temperature", "warm"],
    ["active-decode-blocks-threshold", 1.1],
    ["session-affinity-ttl-secs", 0],
    ["session-affinity-ttl-secs", 31_536_001],
    ["session-affinity-mode", "firm"],
    ["approximate-cache-policy", "fifo"],
    ["min-initial-workers", 0.5],
  ])("refuse --%s %s", (flag, value) => {
    expect(problemsOf(() => read({ [flag]: value }))).toEqual([
      expect.stringContaining(`--${flag}`),
    ]);
  });
});
