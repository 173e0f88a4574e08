// What the host calls. The host owns the memory from `scratchStart()` on: it writes the input there,
// says where the output goes, and copies that out before the next call.

import { hashPair, xxh3 } from "./xxh3.ts";

/** Where the host may write. Below are our tables. */
export function scratchStart(): usize {
  return (__heap_base + 15) & ~15;
}

/** Hashes `count` blocks of `blockBytes` each, one after the other at `input`, into u64s at `output`. */
export function hashBlocks(
  input: usize,
  blockBytes: usize,
  count: usize,
  seedLow: u32,
  seedHigh: u32,
  output: usize,
): void {
  const seed = joinHalves(seedLow, seedHigh);
  for (let index: usize = 0; index < count; index++) {
    store<u64>(output + index * 8, xxh3(input + index * blockBytes, blockBytes, seed));
  }
}

/**
 * Chains `count` block hashes at `input` into sequence hashes at `output`. With `hasParent` the chain
 * goes on from the parent's halves; without, the first sequence hash is the first block hash.
 */
export function chainBlocks(
  input: usize,
  count: usize,
  hasParent: bool,
  parentLow: u32,
  parentHigh: u32,
  seedLow: u32,
  seedHigh: u32,
  output: usize,
): void {
  const seed = joinHalves(seedLow, seedHigh);
  let parent = joinHalves(parentLow, parentHigh);
  let index: usize = 0;
  if (!hasParent && count > 0) {
    parent = load<u64>(input);
    store<u64>(output, parent);
    index = 1;
  }
  for (; index < count; index++) {
    parent = hashPair(parent, load<u64>(input + index * 8), 16, seed);
    store<u64>(output + index * 8, parent);
  }
}

function joinHalves(low: u32, high: u32): u64 {
  return (low as u64) | ((high as u64) << 32);
}
