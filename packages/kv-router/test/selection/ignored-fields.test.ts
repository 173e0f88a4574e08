import { expect, it } from "vitest";
import { createSelector, type PolicySpec, type SelectionRequest } from "../../src/index.ts";
import { defaultLoadTracking } from "../../src/selection/policy-options.ts";
import { candidate, selectionRequest } from "../support.ts";

const everything: Partial<SelectionRequest> = {
  constraints: { requiredTaints: ["gpu"], preferredTaints: { near: 1 } },
  overrides: {
    overlapScoreCredit: 0,
    prefillLoadScale: 1,
    routerTemperature: 0,
    assumeKvReuse: false,
    trackPrefillTokens: false,
  },
  expectedOutputTokens: 5,
};
const overrides = [
  "overlap_score_credit",
  "prefill_load_scale",
  "router_temperature",
  "assume_kv_reuse",
  "track_prefill_tokens",
];

const ignoredBy = (spec: PolicySpec, facts: Partial<SelectionRequest>) =>
  createSelector(spec).explain(selectionRequest(facts), [candidate("a")], 0).ignored;

it("names every field that has no effect, and nothing that is not set", () => {
  expect(ignoredBy({ mode: "random" }, everything)).toEqual([
    "preferred_taints",
    ...overrides,
    "expected_output_tokens",
  ]);
  expect(ignoredBy({ mode: "least-loaded" }, everything)).toEqual([
    ...overrides,
    "expected_output_tokens",
  ]);
  expect(ignoredBy({ mode: "random" }, { overrides: { assumeKvReuse: true } })).toEqual([
    "assume_kv_reuse",
  ]);
  expect(ignoredBy({ mode: "random" }, {})).toEqual([]);
});

it("expects output tokens to matter only where output blocks are counted", () => {
  const tracking = { ...defaultLoadTracking, trackOutputBlocks: true };

  expect(ignoredBy({ mode: "kv" }, everything)).toEqual(["expected_output_tokens"]);
  expect(ignoredBy({ mode: "kv", tracking }, everything)).toEqual([]);
});
