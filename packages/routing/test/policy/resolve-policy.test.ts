import { defaultLoadTracking, defaultPrefillDuration, noBusyThresholds } from "@baton/kv-router";
import { describe, expect, it } from "vitest";
import type { PolicyFlags } from "../../src/index.ts";
import { policyOf, problemsOf } from "../support/policy-sources.ts";

const problems = (flags: PolicyFlags, text?: string) => problemsOf(() => policyOf(flags, text));

describe("without flags and file", () => {
  it("everything has its default", () => {
    const { stages, affinityMode, minInitialWorkers } = policyOf({});

    expect(stages.decode).toMatchObject({
      tracking: defaultLoadTracking,
      thresholds: noBusyThresholds,
      prefillDuration: { kind: "none" },
      cache: {
        useKvEvents: true,
        approximateCachePolicy: "ttl",
        ttlMs: 120_000,
        predictedTtlMs: null,
      },
      affinity: null,
    });
    expect([affinityMode, minInitialWorkers]).toEqual(["hard", 0]);
  });
});

describe("flags and file", () => {
  it("mean the same, each alone", () => {
    const flags = policyOf({
      useKvEvents: false,
      approximateCachePolicy: "lru",
      ttlSecs: 9,
      trackOutputBlocks: true,
      activeDecodeBlocksThreshold: 0.9,
      activePrefillTokensThreshold: 1_000,
      activePrefillTokensThresholdFrac: 2,
      sessionAffinityTtlSecs: 60,
      sessionAffinityMode: "soft",
      minInitialWorkers: 3,
    });
    const file = policyOf(
      {},
      `
router:
  use_kv_events: false
  router_approximate_cache_policy: lru
  router_ttl_secs: 9
  router_track_output_blocks: true
  router_min_initial_workers: 3
busy_thresholds:
  active_decode_blocks_threshold: 0.9
  active_prefill_tokens_threshold: 1000
  active_prefill_tokens_threshold_frac: 2
session_affinity: {ttl_secs: 60, mode: soft}
`,
    );

    expect(flags).toEqual(file);
    expect(file.stages.decode).toMatchObject({
      tracking: { trackOutputBlocks: true },
      thresholds: {
        activeDecodeBlocksThreshold: 0.9,
        activePrefillTokensThreshold: 1_000,
        activePrefillTokensThresholdFrac: 2,
      },
      cache: { useKvEvents: false, approximateCachePolicy: "lru", ttlMs: 9_000 },
      affinity: { ttlMs: 60_000, mode: "soft" },
    });
    expect(file.minInitialWorkers).toBe(3);
  });

  it("predict on route only with events", () => {
    const text = "router:\n  router_predicted_ttl_secs: 0.5\n";

    expect(policyOf({}, text).stages.decode.cache.predictedTtlMs).toBe(500);
    expect(policyOf({ predictedTtlSecs: 0.5 }).stages.decode.cache.predictedTtlMs).toBe(500);
  });

  it("never count active blocks of prefill workers", () => {
    const { stages } = policyOf({ trackOutputBlocks: true });

    expect(stages.prefill.tracking).toMatchObject({
      trackActiveBlocks: false,
      trackOutputBlocks: false,
    });
    expect(stages.aggregated.tracking.trackOutputBlocks).toBe(true);
  });

  it("model the time of prefills, with the coefficients that are given", () => {
    const model = (more = "") =>
      policyOf({}, `router:\n  router_prefill_load_model: polynomial\n${more}`).stages.prefill
        .prefillDuration;

    expect(model()).toEqual(defaultPrefillDuration);
    expect(
      model("  router_prefill_load_polynomial: {quadratic: 0, linear: 1, constant: 2}\n"),
    ).toEqual({ kind: "polynomial", quadratic: 0, linear: 1, constant: 2 });
  });
});

describe("settings that contradict each other", () => {
  it.each([
    [
      "router:\n  router_track_active_blocks: false\n  router_track_output_blocks: true\n",
      /policy\.yaml:3: router\.router_track_output_blocks: .*policy\.yaml:2: router\.router_track_active_blocks/,
    ],
    [
      "router:\n  router_prefill_load_model: polynomial\n  router_track_prefill_tokens: false\n",
      /policy\.yaml:2: router\.router_prefill_load_model: .*policy\.yaml:3: router\.router_track_prefill_tokens/,
    ],
    [
      "router:\n  router_predicted_ttl_secs: 1\n  use_kv_events: false\n",
      /policy\.yaml:2: router\.router_predicted_ttl_secs: .*policy\.yaml:3: router\.use_kv_events/,
    ],
    [
      "router:\n  router_approximate_cache_policy: lru\n",
      /policy\.yaml:2: router\.router_approximate_cache_policy: .*the default of router\.use_kv_events/,
    ],
    [
      "router:\n  router_prefill_load_polynomial: {quadratic: 0, linear: 1, constant: 2}\n",
      /policy\.yaml:2: router\.router_prefill_load_polynomial: /,
    ],
  ])("are refused with both lines: %j", (text, wanted) => {
    expect(problems({}, text)).toEqual([expect.stringMatching(wanted)]);
  });

  it("are refused across flags and file", () => {
    expect(problems({ predictedTtlSecs: 1, useKvEvents: false })).toEqual([
      expect.stringMatching(/^--predicted-ttl-secs: .*--use-kv-events$/),
    ]);
    expect(
      problems({ trackOutputBlocks: true }, "router:\n  router_track_active_blocks: false\n"),
    ).toEqual([expect.stringMatching(/^--track-output-blocks: .*policy\.yaml:2/)]);
  });

  it("are named all at once, with what stands in two places", () => {
    const text = "router:\n  use_kv_events: false\n  router_predicted_ttl_secs: 1\n";

    expect(
      problems({ useKvEvents: false, routerMode: "random", routerTemperature: 1 }, text),
    ).toHaveLength(3);
  });
});
