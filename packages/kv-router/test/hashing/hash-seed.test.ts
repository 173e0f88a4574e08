import { expect, it } from "vitest";
import { addToHashSeed, hashSeedFrom } from "../../src/hashing/hash-seed.ts";

it("splits a number into halves", () => {
  expect(hashSeedFrom(2 ** 53 - 1)).toEqual({ low: 0xffff_ffff, high: 0x1f_ffff });
});

it("carries from the low half into the high half", () => {
  const sum = addToHashSeed({ low: 0xffff_ffff, high: 1 }, Uint8Array.of(1, 0, 0, 0, 5, 0, 0, 0));

  expect(sum).toEqual({ low: 0, high: 7 });
});

it("wraps at 2^64", () => {
  const ones = new Uint8Array(8).fill(255);

  expect(addToHashSeed({ low: 2, high: 0 }, ones)).toEqual({ low: 1, high: 0 });
});
