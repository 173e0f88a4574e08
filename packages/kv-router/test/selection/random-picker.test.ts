import { expect, it } from "vitest";
import { createSelector } from "../../src/index.ts";
import { candidate, selectionRequest } from "../support.ts";

it("gives every free worker the same share of the random numbers", () => {
  const selector = createSelector("random");
  const workers = [
    candidate("a"),
    candidate("busy", { maxRequestsInFlight: 0 }),
    candidate("b"),
    candidate("c"),
  ];

  const counts = new Map<string, number>();
  for (let step = 0; step < 300; step++) {
    const selection = selector.select(selectionRequest(), workers, step / 300);
    const name = selection.kind === "selected" ? selection.workerId : "none";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }

  expect(counts).toEqual(
    new Map([
      ["a", 100],
      ["b", 100],
      ["c", 100],
    ]),
  );
});
