import { describe, expect, it } from "vitest";
import { highWord, lowWord, mixWords } from "../../src/prefix-index/hash-words.ts";

describe("the words of a hash", () => {
  it("are its halves, little-endian, as signed numbers", () => {
    const bytes = new Uint8Array([9, 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff, 7]);

    expect(lowWord(bytes, 1)).toBe(0x04030201);
    expect(highWord(bytes, 1)).toBe(-1);
  });

  it("mix to different numbers if either differs", () => {
    const mixed = new Set<number>();
    for (let low = 0; low < 100; low += 1) {
      for (let high = 0; high < 100; high += 1) mixed.add(mixWords(low, high));
    }

    expect(mixed.size).toBeGreaterThan(9_990);
  });

  it("mix evenly even if they count up", () => {
    const buckets = new Array<number>(16).fill(0);
    for (let low = 0; low < 16_000; low += 1) buckets[mixWords(low, 0) & 15]! += 1;
    for (let low = 0; low < 16_000; low += 1) buckets[mixWords(low, 0) >>> 28]! += 1;

    expect(Math.min(...buckets)).toBeGreaterThan(1_700);
    expect(Math.max(...buckets)).toBeLessThan(2_300);
  });
});
