import { describe, expect, it } from "vitest";
import { createSelector, type SelectionRequest, type WorkerCandidate } from "../../src/index.ts";
import { defaultLoadTracking } from "../../src/selection/policy-options.ts";
import { candidate, selectionRequest } from "../support.ts";

/** The parameters of the reference. */
const reference = { prefill_load_scale: 1, uncached_prefill_weight: 0 };

const select = (
  candidates: readonly WorkerCandidate[],
  request: Partial<SelectionRequest> = {},
  parameters: Readonly<Record<string, number>> = {},
  random = 0,
) =>
  createSelector({ mode: "kv", parameters: { ...reference, ...parameters } }).select(
    selectionRequest(request),
    candidates,
    random,
  );

/** Costs 18, 10 and 11: all blocks of the request are active on each. */
const three = [
  candidate("a", { overlapBlocks: 2, bookedBlocks: 10, bookedOverlapBlocks: 10 }),
  candidate("b", { overlapBlocks: 5, bookedBlocks: 5, bookedOverlapBlocks: 10 }),
  candidate("c", { overlapBlocks: 8, bookedBlocks: 9, bookedOverlapBlocks: 10 }),
];

it("weighs what a worker holds against what it runs", () => {
  expect(select(three)).toMatchObject({
    workerId: "b",
    overlapBlocks: 5,
    cachedTokens: 50,
    bestOverlapBlocks: 8,
  });
});

it("follows its parameters", () => {
  expect(select(three, {}, { prefill_load_scale: 2 })).toMatchObject({ workerId: "c" });
  expect(select(three, {}, { overlap_score_credit: 0 })).toMatchObject({ workerId: "b" });
});

it("lets a request change what it may change", () => {
  expect(select(three, { overrides: { prefillLoadScale: 2 } })).toMatchObject({ workerId: "c" });
  expect(select(three, { overrides: { routerTemperature: 1_000 } }, {}, 0.1)).toMatchObject({
    workerId: "a",
  });
});

it("leaves ties to the random number", () => {
  const tied = ["a", "b", "c"].map((name) => candidate(name));
  const chosen = [0, 0.34, 0.99].map((random) => select(tied, {}, {}, random));

  expect(chosen).toMatchObject([{ workerId: "a" }, { workerId: "b" }, { workerId: "c" }]);
});

it("prices a preferred taint, which may attract and repel", () => {
  const preferring = (weight: number) => ({
    constraints: { requiredTaints: [], preferredTaints: { near: weight } },
  });
  const [, b, c] = three as [WorkerCandidate, WorkerCandidate, WorkerCandidate];
  const near = { ...c, taints: new Set(["near"]) };

  expect(select([b, near], preferring(0.85))).toMatchObject({ workerId: "c" });
  expect(select([{ ...b, taints: near.taints }, c], preferring(-0.85))).toMatchObject({
    workerId: "c",
  });
});

it("counts the least prefill load of those that can be chosen, not of all", () => {
  const idle = candidate("idle", { draining: true });
  const loaded = candidate("loaded", { activePrefillTokens: 100, overlapBlocks: 8 });
  const selector = createSelector({
    mode: "kv",
    parameters: { ...reference, overlap_score_credit_decay: 1 },
  });

  const { candidates } = selector.explain(selectionRequest(), [idle, loaded], 0);

  expect(candidates[1]).toMatchObject({ cost: 20 - 8 + 10, terms: { decay: 1 } });
});

describe("what it keeps count of", () => {
  it("is said by the router, for all requests", () => {
    const busy = candidate("busy", { activePrefillTokens: 500 });
    const full = candidate("full", { bookedBlocks: 5 });
    const spec = (facts: object) => ({
      mode: "kv" as const,
      tracking: { ...defaultLoadTracking, ...facts },
    });
    const choose = (facts: object) =>
      createSelector(spec(facts)).select(selectionRequest(), [busy, full], 0);

    expect(choose({})).toMatchObject({ workerId: "full" });
    expect(choose({ trackPrefillTokens: false })).toMatchObject({ workerId: "busy" });
  });
});
