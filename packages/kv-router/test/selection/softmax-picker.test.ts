import { expect, it } from "vitest";
import { createSoftmaxPicker } from "../../src/selection/softmax-picker.ts";
import { candidate, selectionRequest } from "../support.ts";

/** The share of evenly spread random numbers that each candidate gets. */
function sharesOf(costs: readonly number[], temperature: number, ofRequest?: number): number[] {
  const picker = createSoftmaxPicker(temperature);
  const request =
    ofRequest === undefined
      ? selectionRequest()
      : selectionRequest({ overrides: { routerTemperature: ofRequest } });
  const choice = { request, eligible: costs.map((_cost, index) => candidate(`w${index}`)) };
  const counts = costs.map(() => 0);
  const draws = 10_000;
  for (let draw = 0; draw < draws; draw++) {
    const index = picker.pick(choice, Float64Array.from(costs), draw / draws);
    counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts.map((count) => count / draws);
}

it("takes the cheapest at temperature 0", () => {
  expect(sharesOf([3, 1, 2], 0)).toEqual([0, 1, 0]);
});

it("gives shares by the costs scaled to 0…1, whatever their unit", () => {
  const parts = [1, Math.exp(-0.5 / 0.4), Math.exp(-1 / 0.4)];
  const sum = parts.reduce((total, part) => total + part);

  for (const unit of [1, 1_000]) {
    const shares = sharesOf([10 * unit, 15 * unit, 20 * unit], 0.4);

    shares.forEach((share, index) => {
      expect(share).toBeCloseTo(parts[index]! / sum, 3);
    });
  }
});

it("gives equal costs equal shares", () => {
  expect(sharesOf([7, 7, 7, 7], 0.5)).toEqual([0.25, 0.25, 0.25, 0.25]);
});

it("takes the request's own temperature before its own", () => {
  expect(sharesOf([1, 2], 5, 0)).toEqual([1, 0]);
  expect(sharesOf([1, 2], 0, 1_000)[1]).toBeCloseTo(0.5, 2);
});

it("never takes what has no chance, at a temperature of next to nothing", () => {
  expect(sharesOf([2, 1, 3], Number.MIN_VALUE)).toEqual([0, 1, 0]);
});
