import { expect, it } from "vitest";
import { createSelector, type WorkerCandidate } from "../../src/index.ts";
import { candidate, selectionRequest } from "../support.ts";

const choose = (candidates: readonly WorkerCandidate[], random = 0, request = selectionRequest()) =>
  createSelector("least-loaded").select(request, candidates, random);

it("takes the fewest requests in flight before it looks at blocks", () => {
  const few = candidate("few", { requestsInFlight: 1, activeBlocks: 99 });
  const many = candidate("many", { requestsInFlight: 2, activeBlocks: 0 });

  expect(choose([many, few])).toMatchObject({ workerId: "few" });
});

it("takes the smallest share of blocks among equals, not the smallest number", () => {
  const small = candidate("small", { activeBlocks: 30, totalBlocks: 40 });
  const large = candidate("large", { activeBlocks: 50, totalBlocks: 100 });

  expect(choose([small, large])).toMatchObject({ workerId: "large" });
});

it("takes a worker that does not say its blocks for a full one", () => {
  const silent = candidate("silent", { activeBlocks: null });
  const used = candidate("used", { activeBlocks: 90 });
  const empty = candidate("empty", { totalBlocks: 0 });

  expect(choose([silent, empty, used])).toMatchObject({ workerId: "used" });
});

it("leaves ties to the random number", () => {
  const tied = ["a", "b", "c"].map((name) => candidate(name, { requestsInFlight: 3 }));
  const all = [candidate("worse", { requestsInFlight: 4 }), ...tied];

  const chosen = [0, 0.34, 0.99].map((random) => choose(all, random));

  expect(chosen).toMatchObject([{ workerId: "a" }, { workerId: "b" }, { workerId: "c" }]);
});

it("prefers a preferred worker while its load is not much higher", () => {
  const constraints = { requiredTaints: [], preferredTaints: { near: 0.85 } };
  const request = selectionRequest({ constraints });
  const near = (requestsInFlight: number) =>
    candidate("near", { requestsInFlight, taints: new Set(["near"]) });

  // exp(-tanh 0.85) is about a half: 2 half-priced requests against 1.
  expect(choose([candidate("far"), near(0)], 0, request)).toMatchObject({ workerId: "near" });
  expect(choose([candidate("far"), near(2)], 0, request)).toMatchObject({ workerId: "far" });
});

it("explains its cost by its terms", () => {
  const explanation = createSelector("least-loaded").explain(
    selectionRequest(),
    [candidate("a", { requestsInFlight: 2, activeBlocks: 25, overlapBlocks: 4 })],
    0,
  );

  expect(explanation.candidates).toEqual([
    {
      workerId: "a",
      generation: 1,
      dpRank: 0,
      eligible: true,
      overlapBlocks: 4,
      cachedTokens: 40,
      cost: 3,
      terms: { requests_in_flight: 2, used_block_share: 0.25, preference_factor: 1 },
    },
  ]);
});
