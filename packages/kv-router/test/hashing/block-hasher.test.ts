import { describe, expect, it } from "vitest";
import { instantiateWasm } from "../../src/hashing/host-globals.ts";
import {
  blockHasherWasm,
  createBlockHasher,
  createBlockHasherFromModule,
  type HashScope,
  hashBytes,
} from "../../src/index.ts";
import { referenceHasher, toBigInts, tokensFrom } from "./hasher-support.ts";

const hasher = createBlockHasherFromModule();
const oneToTen = Uint32Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);

describe("the fixtures: tokens 1 to 10 in blocks of 4", () => {
  const fixtures: { scope: HashScope; seed: bigint; blocks: bigint[]; second: bigint }[] = [
    {
      scope: {},
      seed: 1337n,
      blocks: [14643705804678351452n, 16777012769546811212n],
      second: 4945711292740353085n,
    },
    {
      scope: { lora: "adapter-a" },
      seed: 8842669519798868182n,
      blocks: [11381080598872079209n, 5698110331184095209n],
      second: 17518568667535815909n,
    },
    {
      scope: { salt: "tenant-a" },
      seed: 1948188790972764086n,
      blocks: [5738685477468498325n, 11202231085456067787n],
      second: 1076233986426276607n,
    },
    {
      scope: { lora: "adapter-a", salt: "tenant-a" },
      seed: 10790858310771630931n,
      blocks: [9967753091837871098n, 17145582438027477403n],
      second: 8253787442643436499n,
    },
  ];

  it.each(fixtures)("hashes as written down for $scope", ({ scope, seed, blocks, second }) => {
    const hashSeed = hasher.hashSeed(scope);
    const blockHashes = hasher.blockHashes(oneToTen, 4, hashSeed);
    const sequenceHashes = hasher.sequenceHashes(blockHashes);

    expect((BigInt(hashSeed.high) << 32n) + BigInt(hashSeed.low)).toBe(seed);
    expect(toBigInts(blockHashes)).toEqual(blocks);
    expect(toBigInts(sequenceHashes)).toEqual([blocks[0], second]);
  });
});

describe("hashSeed", () => {
  it("takes an empty adapter or salt for none", () => {
    expect(hasher.hashSeed({ lora: "", salt: "" })).toEqual({ low: 1337, high: 0 });
  });

  it("tells an adapter from a salt of the same name", () => {
    expect(hasher.hashSeed({ lora: "a" })).not.toEqual(hasher.hashSeed({ salt: "a" }));
  });
});

describe("blockHashes", () => {
  it("hashes nothing when no block is complete", () => {
    expect(hasher.blockHashes(oneToTen, 11)).toHaveLength(0);
    expect(hasher.blockHashes(new Uint32Array(0), 16)).toHaveLength(0);
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses a block size of %s", (blockSize) => {
    expect(() => hasher.blockHashes(oneToTen, blockSize)).toThrow(RangeError);
  });

  it("reads tokens that lie in the middle of a larger buffer", () => {
    const tokens = new Uint32Array([99, ...oneToTen, 99]).subarray(1, 11);

    expect(hasher.blockHashes(tokens, 4)).toEqual(hasher.blockHashes(oneToTen, 4));
  });

  it("gives results that later and larger calls leave alone", () => {
    const first = hasher.blockHashes(oneToTen, 4);
    const copy = first.slice();

    hasher.blockHashes(tokensFrom(1, 300_000), 1);
    hasher.xxh3(new Uint8Array(3_000_000));

    expect(first).toEqual(copy);
  });

  it.each([1, 16, 64, 512])("hashes a prompt of 131,072 tokens in blocks of %i", async (size) => {
    const tokens = tokensFrom(7, 131_072);
    const reference = await referenceHasher({ low: 1337, high: 0 });

    const hashes = hasher.blockHashes(tokens, size);

    expect(hashes).toHaveLength((tokens.length / size) * hashBytes);
    for (const block of [0, 1, Math.floor(tokens.length / size / 2), tokens.length / size - 1]) {
      const bytes = new Uint8Array(tokens.buffer, block * size * 4, size * 4);
      expect(hashes.subarray(block * hashBytes, (block + 1) * hashBytes)).toEqual(reference(bytes));
    }
  });

  it("hashes a block that is larger than one piece", async () => {
    const tokens = tokensFrom(3, 100_001);
    const reference = await referenceHasher({ low: 1337, high: 0 });

    expect(hasher.blockHashes(tokens, 50_000)).toEqual(
      new Uint8Array([
        ...reference(new Uint8Array(tokens.buffer, 0, 200_000)),
        ...reference(new Uint8Array(tokens.buffer, 200_000, 200_000)),
      ]),
    );
  });
});

describe("sequenceHashes", () => {
  it("goes on from a parent as if the chain had never been cut", () => {
    const blocks = hasher.blockHashes(tokensFrom(5, 40_000), 1);
    const whole = hasher.sequenceHashes(blocks);
    const cut = 17 * hashBytes;

    const rest = hasher.sequenceHashes(blocks.subarray(cut), whole.subarray(cut - hashBytes, cut));

    expect(rest).toEqual(whole.subarray(cut));
  });

  it("chains nothing to nothing", () => {
    expect(hasher.sequenceHashes(new Uint8Array(0))).toHaveLength(0);
  });

  it("refuses what is not whole hashes", () => {
    expect(() => hasher.sequenceHashes(new Uint8Array(7))).toThrow(RangeError);
    expect(() => hasher.sequenceHashes(new Uint8Array(8), new Uint8Array(4))).toThrow(RangeError);
  });
});

it("runs on an instance that was made elsewhere", () => {
  const instance = instantiateWasm(blockHasherWasm());

  expect(createBlockHasher(instance).blockHashes(oneToTen, 4)).toEqual(
    hasher.blockHashes(oneToTen, 4),
  );
});
