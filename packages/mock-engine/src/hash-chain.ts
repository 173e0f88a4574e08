import type { BlockHasher, HashSeed } from "./block-hasher.ts";

const bytesPerHash = 8;
const wordsPerHash = 2;

/**
 * Block hashes and sequence hashes of one sequence's complete blocks, as pairs of u32 words
 * (low, high): what the pool compares, without a BigInt or a string per look-up.
 */
export class HashChain {
  private length = 0;
  private blockWords: Uint32Array;
  private sequenceWords: Uint32Array;

  constructor(capacity = 8) {
    this.blockWords = new Uint32Array(capacity * wordsPerHash);
    this.sequenceWords = new Uint32Array(capacity * wordsPerHash);
  }

  /** How many blocks have hashes. */
  get count(): number {
    return this.length;
  }

  blockLow(index: number): number {
    return this.blockWords[index * wordsPerHash]!;
  }

  blockHigh(index: number): number {
    return this.blockWords[index * wordsPerHash + 1]!;
  }

  sequenceLow(index: number): number {
    return this.sequenceWords[index * wordsPerHash]!;
  }

  sequenceHigh(index: number): number {
    return this.sequenceWords[index * wordsPerHash + 1]!;
  }

  /** Appends blocks by their hashes; both arrays hold 8 bytes a block and have one length. */
  appendBytes(blockHashes: Uint8Array, sequenceHashes: Uint8Array): void {
    const added = blockHashes.length / bytesPerHash;
    this.reserve(this.length + added);
    copyWords(blockHashes, this.blockWords, this.length * wordsPerHash);
    copyWords(sequenceHashes, this.sequenceWords, this.length * wordsPerHash);
    this.length += added;
  }

  /** Hashes and appends the complete blocks of `tokens`, which follow those that are here. */
  appendTokens(tokens: Uint32Array, blockSize: number, hasher: BlockHasher, seed?: HashSeed): void {
    const blockHashes = hasher.blockHashes(tokens, blockSize, seed);
    const parent = this.length === 0 ? undefined : this.lastSequenceHash();
    this.appendBytes(blockHashes, hasher.sequenceHashes(blockHashes, parent));
  }

  /** An independent copy, for a sequence that is forked. */
  copy(): HashChain {
    const chain = new HashChain(0);
    chain.length = this.length;
    chain.blockWords = this.blockWords.slice();
    chain.sequenceWords = this.sequenceWords.slice();
    return chain;
  }

  private lastSequenceHash(): Uint8Array {
    const hash = new Uint8Array(bytesPerHash);
    const view = new DataView(hash.buffer);
    view.setUint32(0, this.sequenceLow(this.length - 1), true);
    view.setUint32(4, this.sequenceHigh(this.length - 1), true);
    return hash;
  }

  private reserve(count: number): void {
    if (count * wordsPerHash <= this.blockWords.length) return;
    const words = Math.max(count, this.length * 2) * wordsPerHash;
    this.blockWords = grown(this.blockWords, words);
    this.sequenceWords = grown(this.sequenceWords, words);
  }
}

function grown(words: Uint32Array, length: number): Uint32Array {
  const larger = new Uint32Array(length);
  larger.set(words);
  return larger;
}

function copyWords(bytes: Uint8Array, words: Uint32Array, at: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < bytes.length / 4; i++) words[at + i] = view.getUint32(i * 4, true);
}
