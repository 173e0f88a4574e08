import type { BlockHasher, HashSeed } from "../../src/index.ts";

/** A plain 64-bit hash of two mixed halves: fast, well spread, and nothing like the real one. */
export const testHasher: BlockHasher = {
  blockHashes(tokens: Uint32Array, blockSize: number, seed?: HashSeed): Uint8Array {
    const count = Math.floor(tokens.length / blockSize);
    const words = new Uint32Array(count * 2);
    for (let block = 0; block < count; block++) {
      let low = seed?.low ?? 1;
      let high = seed?.high ?? 2;
      for (let i = block * blockSize; i < (block + 1) * blockSize; i++) {
        low = mix(low ^ tokens[i]!, 0x85ebca6b);
        high = mix(high ^ tokens[i]!, 0xc2b2ae35);
      }
      words[block * 2] = low;
      words[block * 2 + 1] = high;
    }
    return littleEndian(words);
  },
  sequenceHashes(blockHashes: Uint8Array, parent?: Uint8Array): Uint8Array {
    const words = new Uint32Array(blockHashes.length / 4);
    const view = viewOf(blockHashes);
    let low = parent === undefined ? 0 : viewOf(parent).getUint32(0, true);
    let high = parent === undefined ? 0 : viewOf(parent).getUint32(4, true);
    for (let at = 0; at < words.length; at += 2) {
      const isRoot = at === 0 && parent === undefined;
      const ownLow = view.getUint32(at * 4, true);
      const ownHigh = view.getUint32(at * 4 + 4, true);
      low = isRoot ? ownLow : mix(low ^ Math.imul(ownLow, 3), 0x27d4eb2f);
      high = isRoot ? ownHigh : mix(high ^ Math.imul(ownHigh, 5), 0x165667b1);
      words[at] = low;
      words[at + 1] = high;
    }
    return littleEndian(words);
  },
};

/** Says of all tokens that they are the same: every block of the same position collides. */
export const collidingHasher: BlockHasher = {
  blockHashes: (tokens, blockSize) =>
    testHasher.blockHashes(new Uint32Array(tokens.length), blockSize),
  sequenceHashes: testHasher.sequenceHashes,
};

function mix(value: number, factor: number): number {
  const product = Math.imul(value ^ (value >>> 15), factor);
  return (product ^ (product >>> 13)) >>> 0;
}

function littleEndian(words: Uint32Array): Uint8Array {
  const bytes = new Uint8Array(words.length * 4);
  const view = viewOf(bytes);
  for (let i = 0; i < words.length; i++) view.setUint32(i * 4, words[i]!, true);
  return bytes;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
