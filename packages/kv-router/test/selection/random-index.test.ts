import { expect, it } from "vitest";
import { randomIndex } from "../../src/selection/random-index.ts";

it("stays within the candidates at both ends of the random numbers", () => {
  expect(randomIndex(3, 0)).toBe(0);
  expect(randomIndex(3, 1 - Number.EPSILON / 2)).toBe(2);
});
