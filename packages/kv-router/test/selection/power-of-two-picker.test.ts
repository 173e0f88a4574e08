import { expect, it } from "vitest";
import { powerOfTwoPicker } from "../../src/selection/power-of-two-picker.ts";
import { candidate, selectionRequest } from "../support.ts";

/** How often each candidate is taken of `draws` evenly spread random numbers. */
function countsOf(costs: readonly number[], draws: number): number[] {
  const choice = {
    request: selectionRequest(),
    eligible: costs.map((_cost, index) => candidate(`w${index}`)),
  };
  const counts = costs.map(() => 0);
  for (let draw = 0; draw < draws; draw++) {
    const index = powerOfTwoPicker.pick(choice, Float64Array.from(costs), (draw + 0.5) / draws);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}

it("draws every pair equally often and takes the cheaper of it", () => {
  // Of 6 pairs the cheapest is in 3, the next in 2 without it, the third in 1.
  expect(countsOf([30, 10, 40, 20], 1_200)).toEqual([200, 600, 0, 400]);
});

it("takes either of two equals equally often", () => {
  expect(countsOf([5, 5], 1_000)).toEqual([500, 500]);
});

it("takes the only one there is, and stays within the candidates at both ends", () => {
  expect(countsOf([7], 10)).toEqual([10]);
  const choice = { request: selectionRequest(), eligible: [candidate("a"), candidate("b")] };
  const costs = Float64Array.of(1, 2);

  expect(powerOfTwoPicker.pick(choice, costs, 0)).toBe(0);
  expect(powerOfTwoPicker.pick(choice, costs, 1 - Number.EPSILON / 2)).toBe(0);
});
