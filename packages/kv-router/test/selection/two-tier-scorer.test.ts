import { describe, expect, it } from "vitest";
import { createSelector, type WorkerCandidate } from "../../src/index.ts";
import { candidate, selectionRequest } from "../support.ts";

const choose = (
  candidates: readonly WorkerCandidate[],
  parameters: Readonly<Record<string, number>> = {},
  request = selectionRequest(),
) => createSelector({ mode: "two-tier", parameters }).select(request, candidates, 0);

const one = (name: string, requestsInFlight: number, overlapBlocks: number) =>
  candidate(name, { requestsInFlight, overlapBlocks });

describe("with a prefix that is long enough and balanced load", () => {
  it("takes the longest prefix, then the fewest requests", () => {
    const longest = [one("idle", 0, 2), one("busy", 20, 5), one("less-busy", 19, 5)];

    expect(choose(longest)).toMatchObject({ workerId: "less-busy" });
  });

  it("is long enough from the threshold on", () => {
    const candidates = [one("idle", 0, 0), one("holder", 9, 3)];

    expect(choose(candidates)).toMatchObject({ workerId: "holder" });
    expect(choose(candidates, { cache_threshold: 0.31 })).toMatchObject({ workerId: "idle" });
  });

  it("is balanced while one of the two differences is small", () => {
    const far = [one("idle", 10, 0), one("holder", 75, 9)];
    const near = [one("idle", 100, 0), one("holder", 150, 9)];

    expect(choose(far)).toMatchObject({ workerId: "idle" });
    expect(choose(far, { balance_abs_threshold: 65 })).toMatchObject({ workerId: "holder" });
    expect(choose(far, { balance_rel_threshold: 7.5 })).toMatchObject({ workerId: "holder" });
    expect(choose(near, { balance_abs_threshold: 49 })).toMatchObject({ workerId: "holder" });
  });
});

describe("else", () => {
  it("takes the fewest requests, then the longest prefix", () => {
    const candidates = [one("b", 3, 0), one("c", 3, 2), one("d", 4, 2)];

    expect(choose(candidates)).toMatchObject({ workerId: "c" });
  });

  it("holds for a prompt without a full block", () => {
    const request = selectionRequest({ promptTokens: 5, promptBlocks: 0 });

    expect(choose([one("a", 2, 0), one("b", 1, 0)], {}, request)).toMatchObject({ workerId: "b" });
  });

  it("weighs by preferred taints", () => {
    const constraints = { requiredTaints: [], preferredTaints: { near: 0.85 } };
    const near = candidate("near", { requestsInFlight: 2, taints: new Set(["near"]) });

    expect(choose([one("far", 1, 0), near], {}, selectionRequest({ constraints }))).toMatchObject({
      workerId: "near",
    });
  });
});

it("looks at eligible candidates alone", () => {
  const drained = candidate("drained", { requestsInFlight: 0, overlapBlocks: 10, draining: true });

  expect(choose([drained, one("a", 1, 0), one("b", 2, 2)])).toMatchObject({ workerId: "a" });
});

it("explains which order it took", () => {
  const { candidates } = createSelector("two-tier").explain(
    selectionRequest(),
    [one("a", 1, 5), one("b", 3, 0)],
    0,
  );

  expect(candidates[0]).toMatchObject({
    cost: 5 + 1 - 1 / 3,
    terms: {
      requests_in_flight: 1,
      device_overlap_blocks: 5,
      overlap_share: 0.5,
      by_prefix: 1,
      preference_factor: 1,
    },
  });
});
