import { expect, it } from "vitest";
import { createSelector, type WorkerCandidate, type WorkerSelector } from "../../src/index.ts";
import { candidate, selectionRequest, worker } from "../support.ts";

const take = (selector: WorkerSelector, candidates: readonly WorkerCandidate[]): string => {
  const selection = selector.select(selectionRequest(), candidates, 0);
  return selection.kind === "selected" ? `${selection.workerId}/${selection.dpRank}` : "none";
};

it("goes through workers and their ranks in turn, in whatever order they are given", () => {
  const selector = createSelector("round-robin");
  const ranks = [candidate("b"), candidate("a", { dpRank: 1 }), candidate("a", { dpRank: 0 })];

  const taken = [0, 1, 2, 3].map((turn) => take(selector, turn % 2 ? ranks.toReversed() : ranks));

  expect(taken).toEqual(["a/0", "a/1", "b/0", "a/0"]);
});

it("passes nobody over when workers come and go", () => {
  const selector = createSelector("round-robin");
  const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => candidate(name)) as [
    WorkerCandidate,
    WorkerCandidate,
    WorkerCandidate,
    WorkerCandidate,
  ];

  expect(take(selector, [a, b, c])).toBe("a/0");
  expect(take(selector, [a, b, c])).toBe("b/0");
  expect(take(selector, [a, c, d])).toBe("c/0");
  expect(take(selector, [a, b, c, d])).toBe("d/0");
  expect(take(selector, [b, c, d])).toBe("b/0");
});

it("skips a busy worker and comes back to it", () => {
  const selector = createSelector("round-robin");
  const busy = candidate("b", { maxRequestsInFlight: 0 });

  expect(take(selector, [candidate("a"), busy, candidate("c")])).toBe("a/0");
  expect(take(selector, [candidate("a"), busy, candidate("c")])).toBe("c/0");
  expect(take(selector, [candidate("a"), candidate("b"), candidate("c")])).toBe("a/0");
  expect(take(selector, [candidate("a"), candidate("b"), candidate("c")])).toBe("b/0");
});

it("stays in turn when requests in between are pinned", () => {
  const selector = createSelector("round-robin");
  const all = [candidate("a"), candidate("b"), candidate("c")];
  const pinned = selectionRequest({ pin: { workerId: worker("c") } });

  expect(take(selector, all)).toBe("a/0");
  selector.select(pinned, all, 0);
  expect(take(selector, all)).toBe("b/0");
});
