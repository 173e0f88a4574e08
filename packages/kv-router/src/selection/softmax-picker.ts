import { cheapest } from "./cheapest-picker.ts";
import { randomIndex } from "./random-index.ts";
import type { Picker } from "./selection-policy.ts";

/**
 * Takes the cheapest at temperature 0. Above, a candidate's chance is in proportion to `exp(-cost / temperature)`, its cost
 * first scaled to 0…1 between the least and the greatest. A request's own temperature goes before `temperature`.
 */
export function createSoftmaxPicker(temperature: number): Picker {
  return {
    pick: ({ request, eligible }, costs, random) => {
      const ofRequest = request.overrides?.routerTemperature ?? temperature;
      return ofRequest > 0
        ? sample(costs, eligible.length, ofRequest, random)
        : cheapest(costs, eligible.length, random);
    },
  };
}

function sample(costs: Float64Array, count: number, temperature: number, random: number): number {
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < count; index++) {
    least = Math.min(least, costs[index]!);
    greatest = Math.max(greatest, costs[index]!);
  }
  if (least === greatest) return randomIndex(count, random);
  let sum = 0;
  for (let index = 0; index < count; index++) {
    const scaled = (costs[index]! - least) / (greatest - least);
    costs[index] = Math.exp(-scaled / temperature);
    sum += costs[index]!;
  }
  let left = random * sum;
  let chosen = 0;
  for (let index = 0; index < count; index++) {
    // What has no chance is not taken when rounding leaves nothing to subtract from.
    if (costs[index] === 0) continue;
    chosen = index;
    left -= costs[index]!;
    if (left < 0) break;
  }
  return chosen;
}
