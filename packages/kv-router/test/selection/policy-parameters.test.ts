import { describe, expect, it } from "vitest";
import { checkPolicyParameters, policyParameters, routerModes } from "../../src/index.ts";
import { defaultKvCostOptions } from "../../src/selection/policy-options.ts";
import {
  defaultTierWeights,
  kvCostOptionsFrom,
  twoTierOptionsFrom,
} from "../../src/selection/policy-parameters.ts";

it.each(routerModes)("has a default within its range for every parameter of %s", (mode) => {
  const defaults = Object.fromEntries(policyParameters[mode].map((one) => [one.name, one.default]));

  expect(checkPolicyParameters(mode, defaults)).toEqual([]);
});

describe("checkPolicyParameters", () => {
  it("names every parameter that is unknown or out of range", () => {
    const faults = checkPolicyParameters("kv", {
      overlap_score_credit: 3,
      router_temperature: -1,
      disk_cache_hit_weight: 1.01,
      prefill_load_scale: Number.NaN,
      decode_active_request_weight: Number.POSITIVE_INFINITY,
      cache_threshold: 0.5,
    });

    expect(faults.map(({ name }) => name)).toEqual([
      "router_temperature",
      "disk_cache_hit_weight",
      "prefill_load_scale",
      "decode_active_request_weight",
      "cache_threshold",
    ]);
    expect(faults[0]?.text).toBe("router_temperature must be 0 or more, not -1");
    expect(faults[1]?.text).toBe("disk_cache_hit_weight must be from 0 to 1, not 1.01");
  });

  it("says what there is in place of an unknown name", () => {
    const textOf = (mode: "two-tier" | "random") =>
      checkPolicyParameters(mode, { credit: 1 }).map(({ text }) => text);

    expect(textOf("two-tier")).toEqual([
      'policy "two-tier" has no parameter "credit": it has cache_threshold, balance_abs_threshold, balance_rel_threshold',
    ]);
    expect(textOf("random")).toEqual(['policy "random" has no parameter "credit": it has none']);
  });
});

it("reads options by their names, defaults where nothing is said", () => {
  expect(kvCostOptionsFrom({})).toEqual(defaultKvCostOptions);
  expect(kvCostOptionsFrom({ overlap_score_credit: 2, host_cache_hit_weight: 0 })).toEqual({
    ...defaultKvCostOptions,
    overlapScoreCredit: 2,
    hostCacheHitWeight: 0,
  });
  expect(twoTierOptionsFrom({ balance_abs_threshold: 5 })).toEqual({
    cacheThreshold: 0.3,
    balanceAbsThreshold: 5,
    balanceRelThreshold: 1.5,
  });
  expect(defaultTierWeights).toEqual({ host: 0.75, disk: 0.25 });
});
