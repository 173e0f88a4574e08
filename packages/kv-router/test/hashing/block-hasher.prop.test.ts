import fc from "fast-check";
import { expect, it } from "vitest";
import { createBlockHasherFromModule, hashBytes } from "../../src/index.ts";
import { referenceHasher, tokensFrom } from "./hasher-support.ts";

const hasher = createBlockHasherFromModule();
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const seeds = fc.record({ low: u32, high: u32 });

it("hashes every length from 0 to 4,096 bytes as another library does", async () => {
  const seed = { low: 0x89ab_cdef, high: 0xfedc_ba98 };
  const reference = await referenceHasher(seed);
  const bytes = new Uint8Array(tokensFrom(11, 1_024).buffer);

  const wrong: number[] = [];
  for (let length = 0; length <= bytes.length; length++) {
    const slice = bytes.subarray(0, length);
    if (Buffer.compare(hasher.xxh3(slice, seed), reference(slice)) !== 0) wrong.push(length);
  }

  expect(wrong).toEqual([]);
});

it("hashes any bytes under any seed as another library does", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 4_096, size: "max" }),
      seeds,
      async (bytes, seed) => {
        const reference = await referenceHasher(seed);
        expect(hasher.xxh3(bytes, seed)).toEqual(reference(bytes));
      },
    ),
    { numRuns: 300 },
  );
});

it("hashes each block of a prompt as if it were alone, and chains them by the formula", async () => {
  const chain = await referenceHasher({ low: 1337, high: 0 });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 512 }),
      fc.integer({ min: 0, max: 2_000 }),
      seeds,
      async (blockSize, length, seed) => {
        const tokens = tokensFrom(seed.low, length);
        const reference = await referenceHasher(seed);

        const blocks = hasher.blockHashes(tokens, blockSize, seed);
        const sequence = hasher.sequenceHashes(blocks);

        expect(blocks).toHaveLength(Math.floor(length / blockSize) * hashBytes);
        let parent: Uint8Array | undefined;
        for (let index = 0; index < blocks.length / hashBytes; index++) {
          const start = index * blockSize * 4;
          const block = reference(new Uint8Array(tokens.buffer, start, blockSize * 4));
          const expected: Uint8Array =
            parent === undefined ? block : chain(new Uint8Array([...parent, ...block]));
          expect(blocks.subarray(index * hashBytes, (index + 1) * hashBytes)).toEqual(block);
          expect(sequence.subarray(index * hashBytes, (index + 1) * hashBytes)).toEqual(expected);
          parent = expected;
        }
      },
    ),
    { numRuns: 100 },
  );
});
