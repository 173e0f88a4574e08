import { describe, expect, it } from "vitest";
import { SeededRandom } from "../src/seeded-random.ts";

const draw = (random: SeededRandom, count: number) =>
  Array.from({ length: count }, () => random.u32());

describe("SeededRandom", () => {
  it("repeats from the same seed and differs between seeds", () => {
    expect(draw(new SeededRandom(1), 20)).toEqual(draw(new SeededRandom("1"), 20));
    expect(draw(new SeededRandom(1), 20)).not.toEqual(draw(new SeededRandom(2), 20));
  });

  it("keeps its numbers: what a seed gives is part of every failing seed's report", () => {
    expect(draw(new SeededRandom(42), 4)).toEqual([
      525_357_159, 3_402_160_022, 1_011_003_302, 4_255_893_469,
    ]);
  });

  it("forks by label, whatever was drawn before", () => {
    const random = new SeededRandom(1);
    const before = draw(random.fork("a"), 5);
    draw(random, 100);

    expect(draw(random.fork("a"), 5)).toEqual(before);
    expect(draw(random.fork("b"), 5)).not.toEqual(before);
    expect(random.fork("a").fork("b").seed).toBe("1/a/b");
  });

  it("spreads numbers evenly over [0, 1)", () => {
    const random = new SeededRandom(7);
    const buckets = new Array<number>(10).fill(0);
    for (let index = 0; index < 20_000; index++) {
      const number = random.number();
      const bucket = Math.floor(number * 10);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    expect(buckets).toHaveLength(10); // nothing fell outside
    for (const count of buckets) expect(Math.abs(count - 2_000)).toBeLessThan(250);
  });

  it("gives bytes of any length and ids that are one subject token", () => {
    const random = new SeededRandom(7);

    expect(random.bytes(0)).toEqual(new Uint8Array(0));
    expect(new Set(random.bytes(1_000)).size).toBeGreaterThan(200);
    const ids = new Set(Array.from({ length: 1_000 }, () => random.id("w")));
    expect(ids.size).toBe(1_000);
    for (const id of ids) expect(id).toMatch(/^w-[a-z2-7]{16}$/);
  });
});
