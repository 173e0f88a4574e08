/** A sequence of tokens in blocks, each known by the hash of itself and all before it. */

import type { BlockHasher } from "@baton/kv-router";
import { hashBytes } from "@baton/kv-router";

/** One full block of a sequence. Never changes, so chains, slots and the store share it. */
export interface ChainBlock {
  /** The sequence hash as a number. */
  readonly key: bigint;
  /** The key of the block before; null at the root. */
  readonly parentKey: bigint | null;
  readonly blockHash: Uint8Array;
  readonly sequenceHash: Uint8Array;
  readonly parentHash: Uint8Array | null;
  readonly tokens: Uint32Array;
  readonly salt: string | null;
}

/** Where the hashes of a prompt come from: computed elsewhere, 8 bytes a full block. */
export interface PromptHashes {
  readonly blockHashes: Uint8Array;
  readonly sequenceHashes: Uint8Array;
}

/** Whether two blocks stand for the same KV. A hash alone is not trusted. */
export function isSameBlock(a: ChainBlock, b: ChainBlock): boolean {
  return (
    a.key === b.key &&
    a.parentKey === b.parentKey &&
    a.salt === b.salt &&
    a.tokens.length === b.tokens.length &&
    a.tokens.every((token, index) => token === b.tokens[index])
  );
}

/** Tokens that only grow, and their full blocks. */
export class BlockChain {
  readonly blockSize: number;
  readonly salt: string | null;
  readonly #hasher: BlockHasher;
  readonly #tokens: number[];
  readonly #blocks: ChainBlock[] = [];

  /** Hashes of the wrong length are computed anew. */
  constructor(
    hasher: BlockHasher,
    blockSize: number,
    tokens: Uint32Array,
    salt: string | null,
    hashes: PromptHashes,
  ) {
    this.#hasher = hasher;
    this.blockSize = blockSize;
    this.salt = salt;
    this.#tokens = Array.from(tokens);
    const bytes = Math.floor(tokens.length / blockSize) * hashBytes;
    const given = hashes.blockHashes.length === bytes && hashes.sequenceHashes.length === bytes;
    const blockHashes = given ? hashes.blockHashes : this.#hashBlocks(tokens);
    const sequenceHashes = given ? hashes.sequenceHashes : hasher.sequenceHashes(blockHashes);
    for (let at = 0; at < bytes; at += hashBytes) {
      this.#append(blockHashes.slice(at, at + hashBytes), sequenceHashes.slice(at, at + hashBytes));
    }
  }

  get length(): number {
    return this.#tokens.length;
  }

  get blocks(): readonly ChainBlock[] {
    return this.#blocks;
  }

  /** A copy of the first `count` tokens. */
  tokens(count: number): Uint32Array {
    return Uint32Array.from(this.#tokens.slice(0, count));
  }

  /** Another chain of the first `length` tokens, which then grows by itself. */
  prefix(length: number): BlockChain {
    const blocks = this.#blocks.slice(0, Math.floor(length / this.blockSize));
    return new BlockChain(this.#hasher, this.blockSize, this.tokens(length), this.salt, {
      blockHashes: joinHashes(blocks.map(({ blockHash }) => blockHash)),
      sequenceHashes: joinHashes(blocks.map(({ sequenceHash }) => sequenceHash)),
    });
  }

  push(token: number): void {
    this.#tokens.push(token);
    if (this.#tokens.length % this.blockSize !== 0) return;
    const start = this.#tokens.length - this.blockSize;
    const blockHash = this.#hashBlocks(Uint32Array.from(this.#tokens.slice(start)));
    const parent = this.#blocks.at(-1)?.sequenceHash;
    this.#append(blockHash, this.#hasher.sequenceHashes(blockHash, parent));
  }

  /** How many leading blocks both chains share, of the first `limit` of `other`. */
  sharedBlocks(other: BlockChain, limit: number): number {
    const count = Math.min(limit, this.#blocks.length, other.#blocks.length);
    for (let index = 0; index < count; index++) {
      const [mine, theirs] = [this.#blocks[index], other.#blocks[index]];
      if (mine === undefined || theirs === undefined || !isSameBlock(mine, theirs)) return index;
    }
    return count;
  }

  #hashBlocks(tokens: Uint32Array): Uint8Array {
    const scope = this.salt === null ? {} : { salt: this.salt };
    return this.#hasher.blockHashes(tokens, this.blockSize, this.#hasher.hashSeed(scope));
  }

  #append(blockHash: Uint8Array, sequenceHash: Uint8Array): void {
    const parent = this.#blocks.at(-1);
    const start = this.#blocks.length * this.blockSize;
    const view = new DataView(sequenceHash.buffer, sequenceHash.byteOffset, hashBytes);
    this.#blocks.push({
      key: view.getBigUint64(0, true),
      parentKey: parent?.key ?? null,
      blockHash,
      sequenceHash,
      parentHash: parent?.sequenceHash ?? null,
      tokens: Uint32Array.from(this.#tokens.slice(start, start + this.blockSize)),
      salt: this.salt,
    });
  }
}

function joinHashes(hashes: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(hashes.length * hashBytes);
  for (const [index, hash] of hashes.entries()) joined.set(hash, index * hashBytes);
  return joined;
}
