import { describe, expect, it } from "vitest";
import {
  createSelector,
  type Picker,
  type Scorer,
  type SelectionPolicy,
  type WorkerCandidate,
} from "../../src/index.ts";
import { candidate, selectionRequest, worker } from "../support.ts";

const blocks: Scorer = { name: "blocks", cost: ({ bookedBlocks }) => bookedBlocks };
const requests: Scorer = { name: "requests", cost: ({ requestsInFlight }) => requestsInFlight };
const policy = (facts: Partial<SelectionPolicy>): SelectionPolicy => ({
  type: "own",
  usesCacheData: false,
  ...facts,
});
const choose = (
  given: SelectionPolicy,
  candidates: readonly WorkerCandidate[],
  request = selectionRequest(),
) => createSelector(given).select(request, candidates, 0);

const light = candidate("light", { bookedBlocks: 1, requestsInFlight: 9 });
const heavy = candidate("heavy", { bookedBlocks: 5, requestsInFlight: 2 });

describe("a policy of one's own", () => {
  it("adds its scorers' costs and takes the cheapest", () => {
    expect(choose(policy({ scorers: [blocks] }), [light, heavy])).toMatchObject({
      workerId: "light",
    });
    expect(choose(policy({ scorers: [blocks, requests] }), [light, heavy])).toMatchObject({
      workerId: "heavy",
    });
  });

  it("multiplies the sum by the factor of the preferred taints", () => {
    const constraints = { requiredTaints: [], preferredTaints: { near: 0.85 } };
    const near = candidate("near", { bookedBlocks: 9, taints: new Set(["near"]) });
    const request = selectionRequest({ constraints });

    const explanation = createSelector(policy({ scorers: [blocks, requests] })).explain(
      request,
      [near, heavy],
      0,
    );

    const factor = Math.exp(-Math.tanh(0.85));
    expect(explanation.candidates).toMatchObject([
      { cost: 9 * factor, terms: { blocks: 9, requests: 0, preference_factor: factor } },
      { cost: 7, terms: { blocks: 5, requests: 2, preference_factor: 1 } },
    ]);
    expect(explanation.selection).toMatchObject({ workerId: "near" });
  });

  it("chooses at random without scorers and picker", () => {
    const selector = createSelector(policy({}));
    const chosen = [0, 0.99].map((random) =>
      selector.select(selectionRequest(), [light, heavy], random),
    );

    expect(chosen).toMatchObject([{ workerId: "light" }, { workerId: "heavy" }]);
  });

  it("lets scorers see all eligible candidates before the first cost", () => {
    let seen: readonly string[] = [];
    const begin: Scorer["begin"] = ({ eligible }) => {
      seen = eligible.map(({ workerId }) => workerId);
    };

    choose(policy({ scorers: [{ ...blocks, begin }] }), [
      candidate("drained", { draining: true }),
      light,
      heavy,
    ]);

    expect(seen).toEqual(["light", "heavy"]);
  });

  it("counts what its filters leave out, and is busy while others only lack room", () => {
    const filters = [{ name: "small", keeps: (one: WorkerCandidate) => one.bookedBlocks < 3 }];
    const busy = candidate("busy", { maxRequestsInFlight: 0 });

    expect(choose(policy({ filters }), [heavy, light])).toMatchObject({ workerId: "light" });
    expect(choose(policy({ filters }), [heavy])).toMatchObject({
      kind: "none",
      reason: "all_excluded",
      detail: { counts: { filtered: 1 }, text: "no worker may take it: 1 left out by the policy" },
    });
    expect(choose(policy({ filters }), [heavy, busy])).toMatchObject({ reason: "all_busy" });
  });
});

describe("a policy that fails", () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    "by a cost of %d fails the choice and names the worker",
    (bad) => {
      const cost = ({ workerId }: WorkerCandidate) => (workerId === "heavy" ? bad : 1);

      expect(choose(policy({ scorers: [{ name: "bad", cost }] }), [light, heavy])).toEqual({
        kind: "policy_failed",
        text: 'policy "own" has no finite cost for worker heavy, rank 0',
      });
    },
  );

  it("by a pick outside the candidates fails the choice", () => {
    expect(choose(policy({ picker: { pick: () => 2 } }), [light, heavy])).toEqual({
      kind: "policy_failed",
      text: 'policy "own" picked number 2 of 2',
    });
  });

  it("does no harm to a pinned request", () => {
    const scorers = [{ name: "bad", cost: () => Number.NaN }];
    const request = selectionRequest({ pin: { workerId: worker("heavy") } });

    expect(choose(policy({ scorers }), [light, heavy], request)).toMatchObject({
      kind: "selected",
      workerId: "heavy",
    });
  });
});

describe("what a picker is told", () => {
  const told = () => {
    const taken: string[] = [];
    const picker: Picker = { pick: () => 0, taken: ({ workerId }) => taken.push(workerId) };
    return { selector: createSelector(policy({ picker })), taken };
  };

  it("is who was picked, not who was pinned or kept for its session, nor who was asked about", () => {
    const { selector, taken } = told();
    const pin = { workerId: worker("heavy") };
    const preferred = { workerId: worker("heavy"), dpRank: 0 };

    selector.select(selectionRequest({ pin }), [light, heavy], 0);
    selector.select(selectionRequest({ preferred }), [light, heavy], 0);
    selector.explain(selectionRequest(), [light, heavy], 0);
    expect(taken).toEqual([]);
    selector.select(selectionRequest(), [light, heavy], 0);
    expect(taken).toEqual(["light"]);
  });
});

it("scores a pinned request's candidates for the explanation", () => {
  const request = selectionRequest({ pin: { workerId: worker("heavy") } });

  const { selection, candidates } = createSelector(policy({ scorers: [blocks] })).explain(
    request,
    [light, heavy],
    0,
  );

  expect(selection).toMatchObject({ workerId: "heavy" });
  expect(candidates).toMatchObject([
    { workerId: "light", eligible: false, why: "not_pinned", cost: 1 },
    { workerId: "heavy", eligible: true, cost: 5 },
  ]);
});

it("weighs what lies outside the device by the policy's own weights", () => {
  const one = candidate("a", { overlapBlocks: 1, hostOverlapBlocks: 2, diskOverlapBlocks: 4 });

  expect(choose(policy({}), [one])).toMatchObject({ overlapBlocks: 1, cachedTokens: 35 });
  expect(choose(policy({ tierWeights: { host: 0.5, disk: 0 } }), [one])).toMatchObject({
    cachedTokens: 20,
  });
});

it("forgets one choice's candidates before the next", () => {
  const selector = createSelector("kv");
  const many = ["a", "b", "c", "d"].map((name) => candidate(name, { overlapBlocks: 9 }));

  selector.select(selectionRequest(), many, 0);
  const few = selector.select(selectionRequest(), [candidate("z", { overlapBlocks: 1 })], 0.99);

  expect(few).toMatchObject({ workerId: "z", bestOverlapBlocks: 1 });
});
