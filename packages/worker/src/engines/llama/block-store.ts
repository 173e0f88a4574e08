/** A bounded store of KV blocks. What nobody uses is evicted leaf first, the longest unused first. */

import { type BlockChain, type ChainBlock, isSameBlock } from "./block-chain.ts";
import type { KvHoldings } from "./kv-holdings.ts";

/** One block's bytes. */
export interface StoredBlock {
  readonly block: ChainBlock;
  readonly bytes: Uint8Array;
}

interface Entry extends StoredBlock {
  children: number;
  pins: number;
  /** Counts up with each use in the store. */
  lastUse: number;
}

/**
 * A store of at most `capacity` blocks. Its owner reserves room before it pins blocks, for every block that
 * it will pin; so there is always something to evict for a block that is put with a reservation.
 */
export class BlockStore {
  readonly capacity: number;
  readonly #holdings: KvHoldings;
  readonly #entries = new Map<bigint, Entry>();
  /** Blocks without children here; about as many as there are conversations. */
  readonly #leaves = new Set<Entry>();
  readonly #pinned = new Set<Entry>();
  #uses = 0;
  #reserved = 0;

  constructor(capacity: number, holdings: KvHoldings) {
    this.capacity = capacity;
    this.#holdings = holdings;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Blocks that somebody uses, each once. */
  *pinnedBlocks(): Generator<StoredBlock> {
    for (const entry of this.#pinned) yield entry;
  }

  /** The stored block that stands for the same KV. Does not count as use. */
  find(block: ChainBlock): StoredBlock | undefined {
    const entry = this.#entries.get(block.key);
    return entry !== undefined && isSameBlock(entry.block, block) ? entry : undefined;
  }

  /** The leading blocks of a chain that are here, of its first `limit`. */
  findPrefix(chain: BlockChain, limit: number): readonly StoredBlock[] {
    const found: StoredBlock[] = [];
    for (const block of chain.blocks.slice(0, limit)) {
      const stored = this.find(block);
      if (stored === undefined) break;
      found.push(stored);
    }
    return found;
  }

  /** Whether `blocks` could be promised; if so they are, until `unreserve`. */
  tryReserve(blocks: number): boolean {
    if (this.#reserved + blocks > this.capacity) return false;
    this.#reserved += blocks;
    return true;
  }

  unreserve(blocks: number): void {
    this.#reserved -= blocks;
  }

  /**
   * Puts a block in. If its parent is not here, another block has its key, or all is pinned, it stays out: the
   * block that is returned then lives as long as its owner keeps it.
   */
  put(block: ChainBlock, bytes: Uint8Array): StoredBlock {
    const known = this.#entries.get(block.key);
    if (known !== undefined) {
      if (!isSameBlock(known.block, block)) return { block, bytes };
      this.#touch(known);
      return known;
    }
    const parent = block.parentKey === null ? undefined : this.#entries.get(block.parentKey);
    if (block.parentKey !== null && parent === undefined) return { block, bytes };
    if (this.#entries.size >= this.capacity && !this.#evictExcept(parent)) return { block, bytes };
    const entry: Entry = { block, bytes, children: 0, pins: 0, lastUse: 0 };
    this.#entries.set(block.key, entry);
    if (parent !== undefined) {
      parent.children += 1;
      this.#leaves.delete(parent);
    }
    this.#leaves.add(entry);
    this.#touch(entry);
    this.#holdings.add(block);
    return entry;
  }

  /** Keeps blocks from eviction. Pin all blocks before one, too. */
  pin(blocks: Iterable<StoredBlock>): void {
    for (const stored of blocks) {
      const entry = this.#entries.get(stored.block.key);
      if (entry === undefined || entry !== stored) continue;
      entry.pins += 1;
      this.#pinned.add(entry);
    }
  }

  /** Undoes one `pin` of the same blocks, and counts as use. */
  unpin(blocks: Iterable<StoredBlock>): void {
    for (const stored of blocks) {
      const entry = this.#entries.get(stored.block.key);
      if (entry === undefined || entry !== stored) continue;
      entry.pins -= 1;
      if (entry.pins === 0) this.#pinned.delete(entry);
      this.#touch(entry);
    }
  }

  #touch(entry: Entry): void {
    this.#uses += 1;
    entry.lastUse = this.#uses;
  }

  #evictExcept(kept: Entry | undefined): boolean {
    let oldest: Entry | undefined;
    for (const entry of this.#leaves) {
      if (entry.pins > 0 || entry === kept) continue;
      if (oldest === undefined || entry.lastUse < oldest.lastUse) oldest = entry;
    }
    if (oldest === undefined) return false;
    this.#remove(oldest);
    return true;
  }

  #remove(entry: Entry): void {
    const { block } = entry;
    this.#entries.delete(block.key);
    this.#leaves.delete(entry);
    this.#holdings.drop(block);
    if (block.parentKey === null) return;
    const parent = this.#entries.get(block.parentKey);
    if (parent === undefined) return;
    parent.children -= 1;
    if (parent.children === 0) this.#leaves.add(parent);
  }
}
