import { expect, it } from "vitest";
import { createSelector } from "../../src/index.ts";
import { candidate, selectionRequest } from "../support.ts";

it("makes power-of-two take the one of its two draws with fewer requests", () => {
  const candidates = [
    candidate("a", { requestsInFlight: 8 }),
    candidate("b", { requestsInFlight: 3 }),
  ];
  const selector = createSelector("power-of-two");

  const chosen = [0, 0.3, 0.6, 0.99].map((random) =>
    selector.select(selectionRequest(), candidates, random),
  );

  expect(chosen).toMatchObject(chosen.map(() => ({ workerId: "b" })));
});

it("explains requests in flight, and a cost with this one", () => {
  const { candidates } = createSelector("power-of-two").explain(
    selectionRequest(),
    [candidate("a", { requestsInFlight: 8 })],
    0,
  );

  expect(candidates).toMatchObject([
    { cost: 9, terms: { requests_in_flight: 8, preference_factor: 1 } },
  ]);
});
