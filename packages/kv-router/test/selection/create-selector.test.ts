import { describe, expect, it } from "vitest";
import { createSelector, routerModes } from "../../src/index.ts";
import { candidate, selectionRequest, worker } from "../support.ts";

const rack = (place: string) => `baton.topology/rack=${place}`;

const choosing = routerModes.filter((mode) => mode !== "direct");

describe.each(choosing)("%s", (mode) => {
  it("says no_workers when nobody is there", () => {
    expect(createSelector(mode).select(selectionRequest(), [], 0)).toEqual({
      kind: "none",
      reason: "no_workers",
      detail: { counts: {}, missingTaints: [], text: "no worker is there" },
    });
  });

  it("returns the chosen worker with its generation, rank and overlap", () => {
    const candidates = [
      candidate("a", { generation: 7, dpRank: 2, overlapBlocks: 3 }),
      candidate("b", { overlapBlocks: 9, draining: true }),
    ];

    expect(createSelector(mode).select(selectionRequest(), candidates, 0.99)).toEqual({
      kind: "selected",
      workerId: "a",
      generation: 7,
      dpRank: 2,
      overlapBlocks: 3,
      cachedTokens: 30,
      bestOverlapBlocks: 3,
    });
  });

  it("obeys required taints and names the domain that nobody is in", () => {
    const constraints = { requiredTaints: [rack("r1"), "fast"], preferredTaints: {} };
    const elsewhere = candidate("a", { taints: new Set([rack("r2"), "fast"]) });
    const plain = candidate("b");
    const here = candidate("c", { taints: new Set([rack("r1"), "fast"]) });
    const selector = createSelector(mode);

    const met = selector.select(selectionRequest({ constraints }), [elsewhere, plain, here], 0);
    const unmet = selector.select(selectionRequest({ constraints }), [plain, elsewhere], 0);

    expect(met).toMatchObject({ kind: "selected", workerId: "c" });
    expect(unmet).toEqual({
      kind: "none",
      reason: "all_excluded",
      detail: {
        counts: { missing_taint: 2 },
        missingTaints: [rack("r1")],
        text: `no worker may take it: 2 without a required taint; missing domain "rack" (${rack("r1")})`,
      },
    });
  });

  it("tells busy from excluded: one that the rules let through is enough", () => {
    const candidates = [
      candidate("a", { draining: true }),
      candidate("b", { requestsInFlight: 2, maxRequestsInFlight: 2 }),
      candidate("c", { refusesUntilMs: 2_000 }),
    ];
    const selector = createSelector(mode);

    expect(selector.select(selectionRequest(), candidates, 0)).toEqual({
      kind: "none",
      reason: "all_busy",
      detail: {
        counts: { draining: 1, at_limit: 1, refusing: 1 },
        missingTaints: [],
        text: "no worker is free: 1 draining, 1 at their limit, 1 refusing work",
      },
    });
    expect(selector.select(selectionRequest(), candidates.slice(0, 1), 0)).toMatchObject({
      reason: "all_excluded",
    });
  });

  it("takes the pinned rank however loaded it is", () => {
    const candidates = [
      candidate("a"),
      candidate("b", { dpRank: 0 }),
      candidate("b", { dpRank: 1, requestsInFlight: 50, activeBlocks: 100 }),
    ];
    const request = selectionRequest({ pin: { workerId: worker("b"), dpRank: 1 } });

    expect(createSelector(mode).select(request, candidates, 0)).toMatchObject({
      kind: "selected",
      workerId: "b",
      dpRank: 1,
    });
  });

  it("takes the rank that the session went to last while it is eligible", () => {
    const preferred = { workerId: worker("b"), dpRank: 1 };
    const request = selectionRequest({ preferred });
    const loaded = { dpRank: 1, requestsInFlight: 50, activePrefillTokens: 9_000 };
    const others = [candidate("a"), candidate("b", { dpRank: 0 })];
    const selector = createSelector(mode);

    const kept = selector.select(request, [...others, candidate("b", loaded)], 0);
    const busy = candidate("b", { ...loaded, overloaded: true });
    const left = selector.select(request, [...others, busy], 0);

    expect(kept).toMatchObject({ kind: "selected", ...preferred });
    expect(left).toMatchObject({ kind: "selected", dpRank: 0 });
  });

  it("says all_busy when every eligible worker is overloaded, pinned or not", () => {
    const candidates = [candidate("a", { overloaded: true }), candidate("b", { draining: true })];
    const pinned = selectionRequest({ pin: { workerId: worker("a") } });
    const selector = createSelector(mode);

    expect(selector.select(selectionRequest(), candidates, 0)).toMatchObject({
      reason: "all_busy",
      detail: { counts: { overloaded: 1, draining: 1 } },
    });
    expect(selector.select(pinned, candidates, 0)).toMatchObject({ reason: "all_busy" });
  });

  it("calls a pin on a worker at its limit busy, and a pin on nobody invalid", () => {
    const candidates = [candidate("a", { maxRequestsInFlight: 0 }), candidate("b")];
    const selector = createSelector(mode);
    const pinned = (name: string) => selectionRequest({ pin: { workerId: worker(name) } });

    expect(selector.select(pinned("a"), candidates, 0)).toMatchObject({ reason: "all_busy" });
    expect(selector.select(pinned("z"), candidates, 0)).toEqual({
      kind: "invalid_pin",
      fault: "unknown_worker",
      text: "there is no worker z",
    });
  });

  it("explains each candidate without changing the next choice", () => {
    const candidates = [candidate("a", { draining: true }), candidate("b"), candidate("c")];
    const asked = createSelector(mode);
    const unasked = createSelector(mode);

    const explanation = asked.explain(selectionRequest(), candidates, 0.6);
    asked.explain(selectionRequest(), candidates, 0.6);

    expect(explanation.selection).toEqual(asked.select(selectionRequest(), candidates, 0.6));
    expect(explanation.selection).toEqual(unasked.select(selectionRequest(), candidates, 0.6));
    expect(explanation.candidates).toMatchObject([
      { workerId: "a", dpRank: 0, eligible: false, why: "draining" },
      { workerId: "b", eligible: true },
      { workerId: "c", eligible: true },
    ]);
    expect(explanation.ignored).toEqual([]);
  });

  it("explains why a pin that nobody can meet leaves everyone out", () => {
    const request = selectionRequest({ pin: { workerId: worker("z") } });

    const explanation = createSelector(mode).explain(request, [candidate("a")], 0);

    expect(explanation.selection.kind).toBe("invalid_pin");
    expect(explanation.candidates).toMatchObject([{ eligible: false, why: "not_pinned" }]);
  });

  it("explains that nobody is free", () => {
    const busy = [candidate("a", { maxRequestsInFlight: 0 })];

    const explanation = createSelector(mode).explain(selectionRequest(), busy, 0);

    expect(explanation.selection).toMatchObject({ kind: "none", reason: "all_busy" });
    expect(explanation.candidates).toMatchObject([{ eligible: false, why: "at_limit" }]);
  });

  it("says whether it ignores preferred taints", () => {
    const request = selectionRequest({
      constraints: { requiredTaints: [], preferredTaints: { gpu: 1 } },
    });

    const { ignored } = createSelector(mode).explain(request, [candidate("a")], 0);

    const comparesNothing = mode === "round-robin" || mode === "random";
    expect(ignored).toEqual(comparesNothing ? ["preferred_taints"] : []);
  });
});

describe("direct", () => {
  it("refuses a request that names nobody", () => {
    const explanation = createSelector("direct").explain(selectionRequest(), [candidate("a")], 0);

    expect(explanation.selection).toEqual({
      kind: "invalid_pin",
      fault: "pin_required",
      text: expect.stringMatching(/does not choose.* must name its \w+ worker/),
    });
    expect(explanation.candidates).toMatchObject([{ eligible: false, why: "not_pinned" }]);
  });

  it("takes the pinned worker, unless it has no room or lacks a required taint", () => {
    const request = selectionRequest({ pin: { workerId: worker("b") } });
    const constraints = { requiredTaints: [rack("r1")], preferredTaints: {} };
    const selector = createSelector("direct");
    const direct = (facts = {}) =>
      selector.select(request, [candidate("a"), candidate("b", facts)], 0);

    expect(direct()).toMatchObject({ kind: "selected", workerId: "b" });
    expect(direct({ overloaded: true })).toMatchObject({ reason: "all_busy" });
    expect(selector.select({ ...request, constraints }, [candidate("b")], 0)).toMatchObject({
      reason: "all_excluded",
      detail: { missingTaints: [rack("r1")] },
    });
  });
});
