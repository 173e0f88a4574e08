/** A 64-bit seed in two halves, each in 0…2^32-1: a JavaScript number holds 53 bits. */
export interface HashSeed {
  readonly low: number;
  readonly high: number;
}

/**
 * The hash function, passed in. A hash is 8 little-endian bytes; hashes of several blocks lie one
 * after the other. `kv-router` has the real one.
 */
export interface BlockHasher {
  /** Hash of each complete block of `tokens`; a tail shorter than `blockSize` has none. `seed` is the request's own. */
  blockHashes(tokens: Uint32Array, blockSize: number, seed?: HashSeed): Uint8Array;
  /** Chained hash of each block and all before it, going on from `parent` (8 bytes; none at the root). */
  sequenceHashes(blockHashes: Uint8Array, parent?: Uint8Array): Uint8Array;
}
