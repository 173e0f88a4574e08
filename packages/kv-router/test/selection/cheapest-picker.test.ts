import { expect, it } from "vitest";
import { cheapest, cheapestPicker } from "../../src/selection/cheapest-picker.ts";
import { candidate, selectionRequest } from "../support.ts";

it("takes the least cost, and looks at no more costs than there are candidates", () => {
  const choice = {
    request: selectionRequest(),
    eligible: [candidate("a"), candidate("b"), candidate("c")],
  };

  expect(cheapestPicker.pick(choice, Float64Array.of(3, 1, 2, 0, 0), 0.9)).toBe(1);
});

it("gives each of several equals the same share of the random numbers", () => {
  const costs = Float64Array.of(5, 2, 9, 2, 2, 4);
  const counts = new Array<number>(costs.length).fill(0);

  for (let step = 0; step < 300; step++) {
    const index = cheapest(costs, costs.length, step / 300);
    counts[index] = (counts[index] ?? 0) + 1;
  }

  expect(counts).toEqual([0, 100, 0, 100, 100, 0]);
});
