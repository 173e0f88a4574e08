import { describe, expect, it } from "vitest";
import type { WorkerCandidate } from "../../src/index.ts";
import { busynessOf, exclusionOf, ineligibilityOf } from "../../src/selection/eligibility.ts";
import { candidate, selectionRequest, worker } from "../support.ts";

const unpinned = { kind: "unpinned" } as const;
const rack1 = "baton.topology/rack=r1";
const needsRack1 = { requiredTaints: [rack1], preferredTaints: {} };

describe("exclusionOf", () => {
  it("lets a plain worker through", () => {
    expect(exclusionOf(selectionRequest(), unpinned, candidate("a"))).toBeUndefined();
  });

  it("keeps out who is not on the allow-list", () => {
    const request = selectionRequest({ allowedWorkers: new Set([worker("b")]) });

    expect(exclusionOf(request, unpinned, candidate("a"))).toBe("not_allowed");
    expect(exclusionOf(request, unpinned, candidate("b"))).toBeUndefined();
  });

  it("keeps out who drains", () => {
    expect(exclusionOf(selectionRequest(), unpinned, candidate("a", { draining: true }))).toBe(
      "draining",
    );
  });

  it("keeps out who lacks a required taint, but not who lacks a preferred one", () => {
    const required = selectionRequest({ constraints: needsRack1 });
    const preferred = selectionRequest({
      constraints: { requiredTaints: [], preferredTaints: { [rack1]: 1 } },
    });

    expect(exclusionOf(required, unpinned, candidate("a"))).toBe("missing_taint");
    expect(exclusionOf(preferred, unpinned, candidate("a"))).toBeUndefined();
    expect(
      exclusionOf(required, unpinned, candidate("a", { taints: new Set([rack1, "gpu"]) })),
    ).toBeUndefined();
  });

  it("keeps out every rank but the pinned one", () => {
    const pin = { kind: "pinned", workerId: worker("a"), dpRank: 1 } as const;

    expect(exclusionOf(selectionRequest(), pin, candidate("a", { dpRank: 1 }))).toBeUndefined();
    expect(exclusionOf(selectionRequest(), pin, candidate("a", { dpRank: 0 }))).toBe("not_pinned");
    expect(exclusionOf(selectionRequest(), pin, candidate("b", { dpRank: 1 }))).toBe("not_pinned");
  });

  it("does not excuse a pinned worker from the other rules", () => {
    const pin = { kind: "pinned", workerId: worker("a"), dpRank: 0 } as const;
    const request = selectionRequest({ constraints: needsRack1 });

    expect(exclusionOf(request, pin, candidate("a"))).toBe("missing_taint");
  });
});

describe("busynessOf", () => {
  it("counts all ranks of a worker against its limit", () => {
    const facts = { requestsInFlight: 0, maxRequestsInFlight: 4 };

    expect(
      busynessOf(selectionRequest(), candidate("a", { ...facts, workerRequestsInFlight: 3 })),
    ).toBeUndefined();
    expect(
      busynessOf(selectionRequest(), candidate("a", { ...facts, workerRequestsInFlight: 4 })),
    ).toBe("at_limit");
  });

  it("lets a worker that refused rest until its time", () => {
    const refusing = candidate("a", { refusesUntilMs: 1_500 });

    expect(busynessOf(selectionRequest({ nowMs: 1_499 }), refusing)).toBe("refusing");
    expect(busynessOf(selectionRequest({ nowMs: 1_500 }), refusing)).toBeUndefined();
  });

  it("leaves out who has passed a busy threshold", () => {
    expect(busynessOf(selectionRequest(), candidate("a", { overloaded: true }))).toBe("overloaded");
  });
});

describe("ineligibilityOf", () => {
  const filter = { name: "no-a", keeps: ({ workerId }: WorkerCandidate) => workerId !== "a" };
  const busy = { maxRequestsInFlight: 0 };

  it("names rules before filters, and filters before want of room", () => {
    const why = (name: string, facts: Partial<WorkerCandidate>) =>
      ineligibilityOf([filter], selectionRequest(), unpinned, candidate(name, facts));

    expect(why("a", { draining: true })).toBe("draining");
    expect(why("a", busy)).toBe("filtered");
    expect(why("b", busy)).toBe("at_limit");
    expect(why("b", {})).toBeUndefined();
  });

  it("asks no filter about a pinned worker", () => {
    const pin = { kind: "pinned", workerId: worker("a"), dpRank: 0 } as const;

    expect(ineligibilityOf([filter], selectionRequest(), pin, candidate("a"))).toBeUndefined();
  });
});
