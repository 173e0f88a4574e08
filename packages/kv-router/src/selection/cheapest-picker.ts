import { randomIndex } from "./random-index.ts";
import type { Picker } from "./selection-policy.ts";

/** Takes the candidate with the least cost; of several the random number chooses, each with the same chance. */
export const cheapestPicker: Picker = {
  pick: ({ eligible }, costs, random) => cheapest(costs, eligible.length, random),
};

/** The index of the least of the first `count` costs; of several the random number chooses. Hot path. */
export function cheapest(costs: Float64Array, count: number, random: number): number {
  let least = Number.POSITIVE_INFINITY;
  let ties = 0;
  let first = 0;
  for (let index = 0; index < count; index++) {
    const cost = costs[index]!;
    if (cost < least) {
      least = cost;
      first = index;
      ties = 1;
    } else if (cost === least) {
      ties += 1;
    }
  }
  return ties <= 1 ? first : nthEqual(costs, first, least, randomIndex(ties, random));
}

/** The index of the `rank`-th cost from `first` on that is equal to `cost`. */
function nthEqual(costs: Float64Array, first: number, cost: number, rank: number): number {
  let index = first;
  for (let passed = 0; passed < rank; ) {
    index += 1;
    if (costs[index] === cost) passed += 1;
  }
  return index;
}
