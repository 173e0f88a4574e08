import { expect, it } from "vitest";
import { randomOf } from "../src/random-of.ts";

const draw = (seed: number | undefined, id: string): string => randomOf(seed)(id).id("x");

it("repeats from a seed, for each actor its own", () => {
  expect(draw(7, "a")).toBe(draw(7, "a"));
  expect(draw(7, "a")).not.toBe(draw(7, "b"));
  expect(draw(7, "a")).not.toBe(draw(8, "a"));
});

it("is the system's without one", () => {
  expect(draw(undefined, "a")).not.toBe(draw(undefined, "a"));
});
