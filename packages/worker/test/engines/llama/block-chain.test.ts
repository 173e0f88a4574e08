import { createBlockHasherFromModule } from "@baton/kv-router";
import { describe, expect, it } from "vitest";
import { BlockChain, isSameBlock } from "../../../src/engines/llama/block-chain.ts";
import { chainOf, noHashes } from "./chains.ts";

const hasher = createBlockHasherFromModule();

describe("BlockChain", () => {
  it("has the hashes of the router, given or computed", () => {
    const tokens = Uint32Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const blockHashes = hasher.blockHashes(tokens, 4);
    const sequenceHashes = hasher.sequenceHashes(blockHashes);
    const given = new BlockChain(hasher, 4, tokens, null, { blockHashes, sequenceHashes });
    const computed = new BlockChain(hasher, 4, tokens, null, noHashes);
    expect(given.blocks).toEqual(computed.blocks);
    expect(given.blocks).toHaveLength(2);
    expect(given.blocks[1]?.sequenceHash).toEqual(sequenceHashes.slice(8, 16));
    expect(given.blocks[1]?.parentHash).toEqual(sequenceHashes.slice(0, 8));
    expect(given.blocks[0]?.parentKey).toBeNull();
  });

  it("closes a block when its last token comes, with the hash of a whole prompt", () => {
    const grown = chainOf([1, 2, 3]);
    for (const token of [4, 5, 6, 7, 8, 9]) grown.push(token);
    expect(grown.blocks).toEqual(chainOf([1, 2, 3, 4, 5, 6, 7, 8, 9]).blocks);
    expect(grown.length).toBe(9);
    expect([...grown.tokens(5)]).toEqual([1, 2, 3, 4, 5]);
  });

  it("begins another chain with its first tokens, which then grows by itself", () => {
    const chain = chainOf([1, 2, 3, 4, 5, 6, 7, 8, 9], "tenant");
    for (const length of [0, 3, 4, 7, 8, 9]) {
      const prefix = chain.prefix(length);
      prefix.push(50);
      expect(prefix.blocks).toEqual(
        chainOf([1, 2, 3, 4, 5, 6, 7, 8, 9].slice(0, length).concat(50), "tenant").blocks,
      );
    }
    expect(chain.length).toBe(9);
  });

  it("keeps tenants apart by their salt", () => {
    const [plain, salted] = [chainOf([1, 2, 3, 4]), chainOf([1, 2, 3, 4], "tenant")];
    expect(plain.blocks[0]?.key).not.toBe(salted.blocks[0]?.key);
    const [a, b] = [plain.blocks[0]!, { ...plain.blocks[0]!, salt: "tenant" }];
    expect(isSameBlock(a, b)).toBe(false);
  });

  it("counts shared leading blocks up to a limit", () => {
    const chain = chainOf([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    const other = chainOf([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0]);
    expect(chain.sharedBlocks(other, 9)).toBe(2);
    expect(chain.sharedBlocks(other, 1)).toBe(1);
    expect(chain.sharedBlocks(chainOf([2, 2, 3, 4]), 9)).toBe(0);
  });

  it("does not trust a hash alone", () => {
    const block = chainOf([1, 2, 3, 4]).blocks[0]!;
    expect(isSameBlock(block, { ...block, tokens: Uint32Array.from([1, 2, 3, 5]) })).toBe(false);
    expect(isSameBlock(block, { ...block, parentKey: 5n })).toBe(false);
    expect(isSameBlock(block, { ...block })).toBe(true);
  });
});
