/** A 64-bit seed in two halves, because a JavaScript number holds 53 bits. Both are in 0…2^32-1. */
export interface HashSeed {
  readonly low: number;
  readonly high: number;
}

/** What sets the block hashes of a request apart from those of equal tokens. Empty means absent. */
export interface HashScope {
  /** The LoRA adapter's name: the same tokens have another KV cache under it. */
  readonly lora?: string;
  /** The tenant's cache salt. */
  readonly salt?: string;
}

/** The seed of blocks without adapter and salt, and of every sequence hash. */
export const baseHashSeed: HashSeed = { low: 1337, high: 0 };

/** A seed from a number in 0…2^53-1. */
export function hashSeedFrom(value: number): HashSeed {
  return { low: value >>> 0, high: Math.floor(value / 2 ** 32) >>> 0 };
}

/** Adds 8 little-endian bytes to a seed, modulo 2^64. */
export function addToHashSeed(seed: HashSeed, bytes: Uint8Array): HashSeed {
  const low = seed.low + readU32(bytes, 0);
  const carry = low > 0xffff_ffff ? 1 : 0;
  return { low: low >>> 0, high: (seed.high + readU32(bytes, 4) + carry) >>> 0 };
}

/** Reads a little-endian u32 at `offset`, which must be at most `bytes.length - 4`. */
export function readU32(bytes: Uint8Array, offset: number): number {
  const low = bytes[offset]! | (bytes[offset + 1]! << 8) | (bytes[offset + 2]! << 16);
  return (low | (bytes[offset + 3]! << 24)) >>> 0;
}
