import { describe, expect, it } from "vitest";
import {
  createSelector,
  routerModes,
  type SelectionPolicy,
  type SelectionRequest,
  type WorkerSelector,
} from "../../src/index.ts";
import { candidate, selectionRequest, worker } from "../support.ts";

const inRack = (name: string, rack: string, facts = {}) =>
  candidate(name, { taints: new Set([`baton.topology/rack=${rack}`]), ...facts });

/** The workers of the other rack are the better ones by every measure: idle, and with the whole prompt in their cache. */
const candidates = [
  inRack("near-1", "r1", { requestsInFlight: 9, bookedBlocks: 90, activePrefillTokens: 900 }),
  inRack("near-2", "r1", { requestsInFlight: 9, bookedBlocks: 90, activePrefillTokens: 900 }),
  inRack("far-1", "r2", { overlapBlocks: 10 }),
  inRack("far-2", "r2", { overlapBlocks: 10 }),
  candidate("nowhere", { overlapBlocks: 10 }),
];
const inFirstRack = (more: Partial<SelectionRequest> = {}) =>
  selectionRequest({
    constraints: { requiredTaints: ["baton.topology/rack=r1"], preferredTaints: {} },
    ...more,
  });

const ownPolicy: SelectionPolicy = {
  type: "own",
  usesCacheData: true,
  scorers: [{ name: "far", cost: ({ workerId }) => (workerId.startsWith("near") ? 9 : 0) }],
};
const selectors: readonly (readonly [name: string, create: () => WorkerSelector])[] = [
  ...routerModes.map((mode) => [mode, () => createSelector(mode)] as const),
  ["a policy of one's own", () => createSelector(ownPolicy)],
];
const choosing = selectors.filter(([name]) => name !== "direct");

describe("a required taint", () => {
  it.each(choosing)("holds in mode %s", (_name, create) => {
    const selector = create();
    for (let round = 0; round < 20; round += 1) {
      const selection = selector.select(inFirstRack(), candidates, round / 20);

      expect(selection).toMatchObject({
        kind: "selected",
        workerId: expect.stringMatching(/^near/),
      });
    }
  });

  it.each(choosing)("beats a session's wish in mode %s", (_name, create) => {
    const preferred = { workerId: worker("far-1"), dpRank: 0 };

    expect(create().select(inFirstRack({ preferred }), candidates, 0)).toMatchObject({
      kind: "selected",
      workerId: expect.stringMatching(/^near/),
    });
  });

  it.each(selectors)("excludes a pinned worker in mode %s", (_name, create) => {
    const pin = { workerId: worker("far-1") };

    expect(create().select(inFirstRack({ pin }), candidates, 0)).toMatchObject({
      kind: "none",
      reason: "all_excluded",
      detail: { missingTaints: ["baton.topology/rack=r1"] },
    });
  });

  it.each(choosing)("that nobody has leaves nobody in mode %s", (_name, create) => {
    const elsewhere = candidates.slice(2);

    expect(create().select(inFirstRack(), elsewhere, 0)).toMatchObject({
      kind: "none",
      reason: "all_excluded",
      detail: { text: expect.stringContaining('domain "rack"') },
    });
  });
});
