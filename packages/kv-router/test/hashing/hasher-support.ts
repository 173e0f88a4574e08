import { createXXHash3 } from "hash-wasm";
import type { HashSeed } from "../../src/index.ts";

/** The hashes of `bytes` as unsigned 64-bit numbers. */
export function toBigInts(bytes: Uint8Array): bigint[] {
  return [...new BigUint64Array(bytes.slice().buffer)];
}

/** XXH3-64 by another library, as 8 little-endian bytes. */
export async function referenceHasher(seed: HashSeed): Promise<(bytes: Uint8Array) => Uint8Array> {
  const hasher = await createXXHash3(seed.low, seed.high);
  return (bytes) => hasher.init().update(bytes).digest("binary").reverse();
}

/** `count` tokens that repeat from the same `seed`. */
export function tokensFrom(seed: number, count: number): Uint32Array {
  let state = seed >>> 0;
  return new Uint32Array(count).map(() => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  });
}
