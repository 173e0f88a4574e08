import fc from "fast-check";
import { expect, it } from "vitest";
import { createSelector, routerModes, type WorkerCandidate } from "../../src/index.ts";
import { candidate, selectionRequest, worker } from "../support.ts";

const names = ["a", "b", "c", "d"];
const taintNames = ["gpu", "fast", "baton.topology/rack=r1"];
const choosing = routerModes.filter((mode) => mode !== "direct");
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

const candidates = fc.uniqueArray(
  fc
    .record({
      name: fc.constantFrom(...names),
      dpRank: fc.integer({ min: 0, max: 2 }),
      taints: fc.subarray(taintNames),
      draining: fc.boolean(),
      refusesUntilMs: fc.constantFrom(0, 1_000, 1_001),
      requestsInFlight: fc.integer({ min: 0, max: 4 }),
      maxRequestsInFlight: fc.constantFrom(0, 2, 4, Number.POSITIVE_INFINITY),
      activeBlocks: fc.option(fc.integer({ min: 0, max: 100 })),
      overlapBlocks: fc.integer({ min: 0, max: 10 }),
      bookedBlocks: fc.integer({ min: 0, max: 20 }),
      activePrefillTokens: fc.integer({ min: 0, max: 500 }),
      overloaded: fc.boolean(),
    })
    .map(({ name, taints, ...facts }) => candidate(name, { ...facts, taints: new Set(taints) })),
  { selector: ({ workerId, dpRank }) => `${workerId}/${dpRank}` },
);
const requests = fc
  .record(
    {
      required: fc.subarray(taintNames),
      allowed: fc.subarray(names),
    },
    { requiredKeys: ["required"] },
  )
  .map(({ required, allowed }) =>
    selectionRequest({
      constraints: { requiredTaints: required, preferredTaints: {} },
      ...(allowed !== undefined && { allowedWorkers: new Set(allowed.map(worker)) }),
    }),
  );

it.each(choosing)(
  "%s selects a candidate exactly if a plain reading of the rules finds one",
  (mode) => {
    fc.assert(
      fc.property(candidates, requests, random, (all, request, drawn) => {
        const obeys = (one: WorkerCandidate) =>
          !one.draining &&
          (request.allowedWorkers?.has(one.workerId) ?? true) &&
          (request.constraints?.requiredTaints ?? []).every((taint) => one.taints.has(taint));
        const hasRoom = (one: WorkerCandidate) =>
          one.workerRequestsInFlight < one.maxRequestsInFlight &&
          one.refusesUntilMs <= 1_000 &&
          !one.overloaded;

        const selection = createSelector(mode).select(request, all, drawn);

        if (selection.kind === "selected") {
          const chosen = all.filter(
            (one) => one.workerId === selection.workerId && one.dpRank === selection.dpRank,
          );
          expect(chosen).toHaveLength(1);
          expect(chosen.every((one) => obeys(one) && hasRoom(one))).toBe(true);
          return;
        }
        expect(all.some((one) => obeys(one) && hasRoom(one))).toBe(false);
        const reason = all.some(obeys) ? "all_busy" : "all_excluded";
        expect(selection).toMatchObject({ reason: all.length === 0 ? "no_workers" : reason });
      }),
      { numRuns: 500 },
    );
  },
);

it.each(choosing)("%s explains what it then selects", (mode) => {
  fc.assert(
    fc.property(candidates, requests, random, (all, request, drawn) => {
      const selector = createSelector(mode);

      const explanation = selector.explain(request, all, drawn);

      expect(explanation.candidates).toHaveLength(all.length);
      expect(explanation.selection).toEqual(selector.select(request, all, drawn));
      expect(explanation.candidates.some((one) => one.eligible)).toBe(
        explanation.selection.kind === "selected",
      );
    }),
  );
});

it("least-loaded never passes by a free candidate with fewer requests", () => {
  fc.assert(
    fc.property(candidates, random, (all, drawn) => {
      const request = selectionRequest();
      const explanation = createSelector("least-loaded").explain(request, all, drawn);
      const { selection } = explanation;
      if (selection.kind !== "selected") return;

      const costs = explanation.candidates.filter((one) => one.eligible).map((one) => one.cost);
      const chosen = explanation.candidates.find(
        (one) => one.workerId === selection.workerId && one.dpRank === selection.dpRank,
      );

      expect(chosen?.cost).toBe(Math.min(...costs));
    }),
  );
});
