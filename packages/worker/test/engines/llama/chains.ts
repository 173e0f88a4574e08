/** Block chains for tests. */

import { createBlockHasherFromModule } from "@baton/kv-router";
import { BlockChain } from "../../../src/engines/llama/block-chain.ts";

const hasher = createBlockHasherFromModule();
export const noHashes = { blockHashes: new Uint8Array(), sequenceHashes: new Uint8Array() };

/** A chain of blocks of 4 tokens. */
export function chainOf(tokens: readonly number[], salt: string | null = null): BlockChain {
  return new BlockChain(hasher, 4, Uint32Array.from(tokens), salt, noHashes);
}

/** One block of 4 tokens a number, so that chains with a common beginning share blocks. */
export function chainOfBlocks(...blocks: readonly number[]): BlockChain {
  return chainOf(blocks.flatMap((block) => [block, block + 1, block + 2, block + 3]));
}
