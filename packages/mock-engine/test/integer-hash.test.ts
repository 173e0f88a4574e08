import { expect, it } from "vitest";
import { hashIntegers, hashToUnit } from "../src/integer-hash.ts";

it("keeps its values from one build to the next", () => {
  expect([hashIntegers(0), hashIntegers(1, 2, 3), hashIntegers(2 ** 40 + 5)]).toEqual([
    2856213345, 3531190139, 288032324,
  ]);
});

it("tells order, sign, length and the bits above 32 apart", () => {
  const hashes = [
    [1, 2],
    [2, 1],
    [-1, 2],
    [1, 2, 0],
    [2 ** 32 + 1, 2],
  ].map((v) => hashIntegers(...v));
  expect(new Set(hashes).size).toBe(5);
});

it("spreads evenly over 0 to 1", () => {
  const buckets = new Array<number>(10).fill(0);
  for (let i = 0; i < 10_000; i++) buckets[Math.floor(hashToUnit(7, i) * 10)]!++;
  for (const count of buckets) expect(Math.abs(count - 1000)).toBeLessThan(150);
});
