import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { integersBetween } from "../../../src/engines/llama/integer-range.ts";

/** The expression as a regular one: both have the same classes, counts and alternatives. */
function patternOf(min: number, max: number): RegExp {
  const expression = integersBetween(min, max).replaceAll('"', "").replaceAll(" ", "");
  return new RegExp(`^(?:${expression})$`);
}

describe("integersBetween", () => {
  it.each([
    [0, 9, "[0-9]"],
    [7, 7, '"7"'],
    [-3, -1, '"-" ([1-3])'],
    [1, 999, "[1-9] | [1-9] [0-9]{1,1} | [1-9] [0-9]{2}"],
  ])("writes %i to %i", (min, max, expression) => {
    expect(integersBetween(min, max)).toBe(expression);
  });

  it.each([
    [-12, 120],
    [0, 100],
    [95, 1_005],
    [-200, -99],
  ])("holds just the integers from %i to %i", (min, max) => {
    const pattern = patternOf(min, max);

    const found = Array.from({ length: 3_000 }, (_, index) => index - 1_000).filter((number) =>
      pattern.test(String(number)),
    );

    expect(found).toEqual(Array.from({ length: max - min + 1 }, (_, index) => min + index));
  });

  it("holds what is within any bounds, and nothing beside them", () => {
    const whole = fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 });

    fc.assert(
      fc.property(whole, whole, whole, (one, other, number) => {
        const [min, max] = [Math.min(one, other), Math.max(one, other)];
        const pattern = patternOf(min, max);
        for (const tried of [number, min - 1, min, min + 1, max - 1, max, max + 1]) {
          expect(pattern.test(String(tried))).toBe(tried >= min && tried <= max);
        }
      }),
    );
  });

  it("writes no integer in two ways", () => {
    const pattern = patternOf(-5, 20);

    expect(["-0", "00", "07", "+1", "1.0", ""].filter((text) => pattern.test(text))).toEqual([]);
  });
});
