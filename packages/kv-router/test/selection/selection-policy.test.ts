import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { type CreatePolicy, createSelector } from "../../src/index.ts";
import { overrideFields } from "../../src/selection/selection-policy.ts";
import { candidate, selectionRequest } from "../support.ts";

/** The module that the README shows, as whoever copies it would load it. */
async function policyOfReadme(): Promise<{ readonly createPolicy: CreatePolicy }> {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const [, source] = /```js\n(.*?)```/s.exec(readme) ?? [];
  return import(`data:text/javascript,${encodeURIComponent(source ?? "")}`);
}

it("is as short as the README says: its example chooses by filters, costs and parameters", async () => {
  const { createPolicy } = await policyOfReadme();
  const candidates = [
    candidate("full", { activeBlocks: 96, totalBlocks: 100 }),
    candidate("empty", { bookedBlocks: 3 }),
    candidate("holder", { bookedBlocks: 5, overlapBlocks: 8 }),
  ];
  const explain = (parameters: Readonly<Record<string, number>>) =>
    createSelector(createPolicy(parameters)).explain(selectionRequest(), candidates, 0);

  const byDefault = explain({});

  expect(byDefault.selection).toMatchObject({ kind: "selected", workerId: "holder" });
  expect(byDefault.candidates).toMatchObject([
    { workerId: "full", eligible: false, why: "filtered" },
    { workerId: "empty", cost: 13, terms: { blocks: 3, prompt: 10, preference_factor: 1 } },
    { workerId: "holder", cost: 11, terms: { blocks: 5, prompt: 6, preference_factor: 1 } },
  ]);
  expect(explain({ prefix_weight: 0 }).selection).toMatchObject({ workerId: "empty" });
  expect(explain({ full_share: 1 }).selection).toMatchObject({ workerId: "full" });
  expect(createSelector(createPolicy({ prefix_weight: 0 })).usesCacheData).toBe(false);
});

it("has a name that clients know for each override", () => {
  expect(overrideFields).toEqual({
    overlapScoreCredit: "overlap_score_credit",
    prefillLoadScale: "prefill_load_scale",
    routerTemperature: "router_temperature",
    assumeKvReuse: "assume_kv_reuse",
    trackPrefillTokens: "track_prefill_tokens",
  });
});
