import { defaultLoadTracking } from "@baton/kv-router";
import type { RouterConfig, WorkerType } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { type PoolCard, policyForPool } from "../../src/index.ts";
import { policyOf } from "../support/policy-sources.ts";

const worker = (
  id: string,
  workerType: WorkerType,
  routerConfig?: RouterConfig | null,
): PoolCard => ({ id, workerType, card: { routerConfig } });

const tuned = policyOf(
  { routerMode: "kv", overlapScoreCredit: 2 },
  `
router: {use_kv_events: false, router_assume_kv_reuse: false}
busy_thresholds: {active_prefill_tokens_threshold: 9}
session_affinity: {ttl_secs: 60, mode: soft}
`,
);
const roundRobin = { mode: "round-robin" };

describe("a pool whose cards say nothing", () => {
  it("is routed as the router is configured", () => {
    for (const stage of ["prefill", "decode", "aggregated"] as const) {
      const cards = [worker("p1", "prefill"), worker("d1", "decode", null)];

      expect(policyForPool(tuned, stage, cards)).toEqual({
        policy: tuned.stages[stage],
        warnings: [],
      });
    }
  });
});

describe("a router configuration on a card", () => {
  it("applies whole: what it does not say is the default, not the router's own", () => {
    const config = { mode: "kv", parameters: { router_temperature: 0.5 } };
    const { policy, warnings } = policyForPool(tuned, "prefill", [worker("p1", "prefill", config)]);

    expect(policy).toMatchObject({
      selection: { mode: "kv", parameters: { router_temperature: 0.5 } },
      tracking: { ...defaultLoadTracking, trackActiveBlocks: false },
      cache: { useKvEvents: true },
      affinity: null,
    });
    expect(policy.selection.parameters).toEqual({ router_temperature: 0.5 });
    expect(warnings).toEqual([]);
  });

  it("leaves the thresholds and the mode of affinity to the router", () => {
    const config = { ...roundRobin, sessionAffinityTtlSecs: 5 };
    const { policy } = policyForPool(tuned, "prefill", [worker("p1", "prefill", config)]);

    expect(policy.thresholds.activePrefillTokensThreshold).toBe(9);
    expect(policy.affinity).toEqual({ ttlMs: 5_000, mode: "soft" });
  });

  it("is for its own pool: prefill by kv stands before decode by round-robin", () => {
    const cards = [worker("p1", "prefill", { mode: "kv" }), worker("d1", "decode", roundRobin)];

    expect(policyForPool(tuned, "prefill", cards).policy.selection).toMatchObject({ mode: "kv" });
    expect(policyForPool(tuned, "decode", cards).policy.selection).toMatchObject(roundRobin);
    expect(policyForPool(tuned, "aggregated", cards).policy).toEqual(tuned.stages.aggregated);
  });

  it("of decode workers goes for prefill workers that have none", () => {
    const cards = [worker("p1", "prefill"), worker("d1", "decode", roundRobin)];
    const { policy } = policyForPool(tuned, "prefill", cards);

    expect(policy.selection).toMatchObject(roundRobin);
    expect(policy.tracking.trackActiveBlocks).toBe(false);
  });

  it("leaves mode kv to the policy that the file names for the pool, and says so", () => {
    const named = policyOf(
      {},
      "worker_selection: {prefill: mine, instances: [{name: mine, type: two-tier}]}",
    );
    const config = { mode: "kv", parameters: { router_temperature: 1 } };
    const kv = policyForPool(named, "prefill", [worker("p1", "prefill", config)]);
    const other = policyForPool(named, "prefill", [worker("p1", "prefill", roundRobin)]);

    expect(kv.policy.selection).toEqual(named.stages.prefill.selection);
    expect(kv.warnings).toEqual([expect.stringContaining("names mine")]);
    expect(other.policy.selection).toMatchObject(roundRobin);
  });
});

describe("cards that disagree", () => {
  it("are settled by the first, with a warning", () => {
    const cards = [
      worker("p1", "prefill", roundRobin),
      worker("p2", "prefill", { mode: "random" }),
      worker("p3", "prefill"),
    ];
    const { policy, warnings } = policyForPool(tuned, "prefill", cards);

    expect(policy.selection).toMatchObject(roundRobin);
    expect(warnings).toEqual([
      expect.stringMatching(/that of p1 counts, not that of p2/),
      expect.stringMatching(/that of p1 counts, not that of p3/),
    ]);
  });

  it("are settled by the first even if it says nothing", () => {
    const cards = [worker("p1", "prefill"), worker("p2", "prefill", roundRobin)];
    const { policy, warnings } = policyForPool(tuned, "prefill", cards);

    expect(policy).toEqual(tuned.stages.prefill);
    expect(warnings).toHaveLength(1);
  });

  it("agree whatever the order of their parameters", () => {
    const cards = [
      { mode: "kv", parameters: { router_temperature: 1, prefill_load_scale: 2 } },
      { mode: "kv", parameters: { prefill_load_scale: 2, router_temperature: 1 } },
    ].map((config, index) => worker(`p${index}`, "prefill", config));

    expect(policyForPool(tuned, "prefill", cards).warnings).toEqual([]);
  });

  it.each([
    [{ mode: "fastest" }, "fastest"],
    [{ mode: "kv", parameters: { router_temperature: -1 } }, "router_temperature"],
    [{ mode: "random", parameters: { x: 1 } }, "x"],
  ])("are passed over if they cannot be read: %j", (config, word) => {
    const cards = [worker("p1", "prefill", config), worker("p2", "prefill", roundRobin)];
    const { policy, warnings } = policyForPool(tuned, "prefill", cards);

    expect(policy.selection).toMatchObject(roundRobin);
    expect(warnings).toEqual([expect.stringMatching(new RegExp(`p1 is ignored: .*${word}`))]);
  });
});
