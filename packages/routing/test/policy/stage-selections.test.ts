import { describe, expect, it } from "vitest";
import { policyOf, problemsOf } from "../support/policy-sources.ts";

const file = `
router: {host_cache_hit_weight: 0.6}
worker_selection:
  prefill: sharp
  decode: mine
  instances:
    - {name: sharp, type: kv, parameters: {overlap_score_credit: 2}}
    - {name: mine, type: module, module: ./policies/mine.mjs, parameters: {depth: 3}}
`;

describe("which policy chooses", () => {
  it("is kv for all pools where nothing is said", () => {
    const { stages } = policyOf({});

    for (const { selection } of Object.values(stages)) {
      expect(selection).toEqual({ kind: "built-in", name: "default", mode: "kv", parameters: {} });
    }
  });

  it("is what the flags say, with their parameters", () => {
    const { stages } = policyOf({ routerMode: "kv", routerTemperature: 0.3 });

    expect(stages.decode.selection).toMatchObject({ parameters: { router_temperature: 0.3 } });
  });

  it("is what the file names for a pool, and the flags' for the others", () => {
    const { stages } = policyOf({ routerMode: "least-loaded" }, file);

    expect(stages.aggregated.selection).toMatchObject({ name: "default", mode: "least-loaded" });
    expect(stages.prefill.selection).toMatchObject({ name: "sharp", mode: "kv" });
  });

  it("has the weights of slower tiers from router, where the policy has such", () => {
    const { stages } = policyOf({ routerMode: "two-tier" }, file);

    expect(stages.prefill.selection.parameters).toEqual({
      overlap_score_credit: 2,
      host_cache_hit_weight: 0.6,
    });
    expect(stages.aggregated.selection.parameters).toEqual({});
  });

  it("is a module beside the file", () => {
    expect(policyOf({}, file).stages.decode.selection).toEqual({
      kind: "module",
      name: "mine",
      module: "/etc/baton/policies/mine.mjs",
      parameters: { depth: 3 },
    });
  });
});

describe("flags that choose nothing", () => {
  it("are refused when they are another mode's", () => {
    expect(problemsOf(() => policyOf({ routerMode: "random", overlapScoreCredit: 1 }))).toEqual([
      "--overlap-score-credit has no effect with --router-mode random",
    ]);
  });

  it("are refused when the file names a policy for every pool", () => {
    const whole = file.replace("prefill: sharp", "prefill: sharp\n  aggregated: sharp");

    expect(problemsOf(() => policyOf({ routerMode: "kv", prefillLoadScale: 2 }, whole))).toEqual([
      expect.stringMatching(/^--router-mode .*policy\.yaml:3: worker_selection/),
      expect.stringMatching(/^--prefill-load-scale .*policy\.yaml:3: worker_selection/),
    ]);
  });
});
