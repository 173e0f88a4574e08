import { expect, it } from "vitest";
import { describeNone, describeTaints } from "../../src/selection/selection-detail.ts";
import { candidate, selectionRequest, worker } from "../support.ts";

const unpinned = { kind: "unpinned" } as const;

it("names topology taints by their domain and others by themselves", () => {
  expect(describeTaints(["gpu", "baton.topology/zone=z1"])).toBe(
    'taint "gpu", domain "zone" (baton.topology/zone=z1)',
  );
});

it("lists what the closest of the workers lacks that only taints keep out", () => {
  const constraints = { requiredTaints: ["a", "b", "c"], preferredTaints: {} };
  const candidates = [
    candidate("one", { taints: new Set(["a"]) }),
    candidate("two", { taints: new Set(["a", "c"]) }),
    candidate("draining", { taints: new Set(["a", "b"]), draining: true }),
  ];

  expect(describeNone(selectionRequest({ constraints }), unpinned, candidates)).toEqual({
    kind: "none",
    reason: "all_excluded",
    detail: {
      counts: { missing_taint: 2, draining: 1 },
      missingTaints: ["b"],
      text: 'no worker may take it: 1 draining, 2 without a required taint; missing taint "b"',
    },
  });
});

it("blames no taint when workers that have them are busy", () => {
  const constraints = { requiredTaints: ["a"], preferredTaints: {} };
  const candidates = [
    candidate("plain"),
    candidate("busy", { taints: new Set(["a"]), maxRequestsInFlight: 0 }),
  ];

  expect(describeNone(selectionRequest({ constraints }), unpinned, candidates)).toMatchObject({
    reason: "all_busy",
    detail: { missingTaints: [] },
  });
});

it("counts those outside an allow-list and beside a pin", () => {
  const request = selectionRequest({ allowedWorkers: new Set([worker("b"), worker("c")]) });
  const pin = { kind: "pinned", workerId: worker("c"), dpRank: 0 } as const;
  const candidates = [candidate("a"), candidate("b"), candidate("c", { draining: true })];

  expect(describeNone(request, pin, candidates)).toMatchObject({
    reason: "all_excluded",
    detail: {
      text: "no worker may take it: 1 not allowed by the request, 1 draining, 1 not the pinned one",
    },
  });
});
