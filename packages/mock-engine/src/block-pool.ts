// Hot path: once per block of every sequence, about once per `blockSize` tokens. Bench: bench/step.bench.ts
import { BlockContents } from "./block-contents.ts";
import { BlockIndex } from "./block-index.ts";
import { BlockList } from "./block-list.ts";
import type { HashChain } from "./hash-chain.ts";
import { type KvEvent, KvEventLog } from "./kv-event.ts";

/** Stands for "no block": the parent of a sequence's first block, or a look-up that finds nothing. */
export const noBlock = -1;

export interface BlockPoolOptions {
  readonly blockCount: number;
  /** Tokens a block. */
  readonly blockSize: number;
  /** False: no block is ever reused, and there are no KV events. */
  readonly prefixCaching: boolean;
}

/**
 * The blocks of a paged KV cache. A block is *free*, *active* (referenced, perhaps by several sequences) or
 * *inactive* (referenced by none, kept for reuse). A complete block is *cached* under its sequence hash, but reused only
 * if its parent block and token ids are the same too. A block whose hash is taken by other content stays private to its
 * sequence, and so do its children: what is cached is closed under prefixes.
 *
 * The least recently used inactive block is evicted first. Who holds a block holds all before it, and gives them back last
 * to first (`releaseAll`), so the oldest inactive block is always a leaf.
 */
export class BlockPool {
  readonly blockCount: number;
  readonly blockSize: number;
  readonly prefixCaching: boolean;
  readonly events: KvEventLog = new KvEventLog();
  private readonly index: BlockIndex;
  private readonly contents: BlockContents;
  private readonly inactive: BlockList;
  private readonly references: Int32Array;
  private readonly parents: Int32Array;
  private readonly children: Int32Array;
  private readonly cached: Uint8Array;
  private readonly blockLow: Uint32Array;
  private readonly blockHigh: Uint32Array;
  /** Free blocks that were used before; those from `unused` on never were. */
  private readonly freed: number[] = [];
  private unused = 0;
  private active = 0;

  constructor(options: BlockPoolOptions) {
    const { blockCount, blockSize } = options;
    if (
      !Number.isInteger(blockCount) ||
      blockCount < 1 ||
      !Number.isInteger(blockSize) ||
      blockSize < 1
    ) {
      throw new RangeError("blockCount and blockSize must be integers of at least 1");
    }
    this.blockCount = blockCount;
    this.blockSize = blockSize;
    this.prefixCaching = options.prefixCaching;
    this.index = new BlockIndex(blockCount);
    this.contents = new BlockContents(blockSize);
    this.inactive = new BlockList(blockCount);
    this.references = new Int32Array(blockCount);
    this.parents = new Int32Array(blockCount);
    this.children = new Int32Array(blockCount);
    this.cached = new Uint8Array(blockCount);
    this.blockLow = new Uint32Array(blockCount);
    this.blockHigh = new Uint32Array(blockCount);
  }

  /** Referenced blocks, a shared one counted once. */
  get activeBlocks(): number {
    return this.active;
  }

  /** Blocks that nobody references and that are kept for reuse. */
  get cachedBlocks(): number {
    return this.inactive.size;
  }

  get freeBlocks(): number {
    return this.blockCount - this.active - this.inactive.size;
  }

  /** How many times a block is referenced. */
  referencesOf(id: number): number {
    return this.references[id]!;
  }

  /** Whether others can find the block. */
  isCached(id: number): boolean {
    return this.cached[id] === 1;
  }

  /** The cached block number `position` of the sequence with these hashes and tokens, or `noBlock`. `parent` is the block before it. */
  find(parent: number, chain: HashChain, position: number, tokens: Uint32Array): number {
    const id = this.index.find(chain.sequenceLow(position), chain.sequenceHigh(position));
    if (id === noBlock || !this.holds(id, parent, position, tokens)) return noBlock;
    return id;
  }

  /** Adds a reference to a block that is active or inactive. */
  acquire(id: number): void {
    if (this.references[id] === 0) {
      if (this.cached[id] === 0) throw new Error(`block ${id} is free and cannot be acquired`);
      this.inactive.remove(id);
      this.active++;
    }
    this.references[id]!++;
  }

  /** An empty block with one reference: a free one, or else the oldest inactive one, which is evicted. `noBlock` if all are active. */
  allocate(): number {
    const id = this.takeFree();
    if (id === noBlock) return noBlock;
    this.references[id] = 1;
    this.active++;
    return id;
  }

  /**
   * Makes a complete block reusable and returns the block to hold from here on: the same, or, if an equal one is cached
   * already, that one, with the reference moved to it.
   */
  commit(
    id: number,
    parent: number,
    chain: HashChain,
    position: number,
    tokens: Uint32Array,
  ): number {
    if (!this.prefixCaching) return id;
    if (parent !== noBlock && this.cached[parent] === 0) return id;
    const low = chain.sequenceLow(position);
    const high = chain.sequenceHigh(position);
    const present = this.index.find(low, high);
    if (present !== noBlock) {
      if (present === id || !this.holds(present, parent, position, tokens)) return id;
      this.acquire(present);
      this.release(id);
      return present;
    }
    this.index.insert(id, low, high);
    this.contents.write(id, tokens, position * this.blockSize);
    this.cached[id] = 1;
    this.parents[id] = parent;
    this.blockLow[id] = chain.blockLow(position);
    this.blockHigh[id] = chain.blockHigh(position);
    if (parent !== noBlock) this.children[parent]!++;
    this.writeStored(this.events, id);
    return id;
  }

  /** Takes back one reference. Without any, a cached block becomes inactive, another one free. */
  release(id: number): void {
    const left = --this.references[id]!;
    if (left < 0) throw new Error(`block ${id} was released more often than it was acquired`);
    if (left > 0) return;
    this.active--;
    if (this.cached[id] === 1) this.inactive.push(id);
    else this.freed.push(id);
  }

  /** Takes back one reference to each block of a sequence and empties the list. */
  releaseAll(blocks: number[]): void {
    for (let i = blocks.length - 1; i >= 0; i--) this.release(blocks[i]!);
    blocks.length = 0;
  }

  /** Forgets every cached block. Active ones stay with their sequences, private from here on. */
  clear(): void {
    while (this.inactive.size > 0) {
      const id = this.inactive.first;
      this.inactive.remove(id);
      this.freed.push(id);
    }
    this.index.clear();
    this.cached.fill(0);
    this.children.fill(0);
    if (this.prefixCaching) this.events.cleared();
  }

  /** The cached blocks as `stored` events, parents first: what a fresh follower needs. */
  snapshot(): KvEvent[] {
    const log = new KvEventLog();
    const written = new Uint8Array(this.blockCount);
    const path: number[] = [];
    for (let id = 0; id < this.unused; id++) {
      if (this.cached[id] === 0) continue;
      for (let at = id; at !== noBlock && written[at] === 0; at = this.parents[at]!) path.push(at);
      for (let at = path.pop(); at !== undefined; at = path.pop()) {
        written[at] = 1;
        this.writeStored(log, at);
      }
    }
    return log.take();
  }

  private holds(id: number, parent: number, position: number, tokens: Uint32Array): boolean {
    return (
      this.parents[id] === parent && this.contents.equals(id, tokens, position * this.blockSize)
    );
  }

  private takeFree(): number {
    const freed = this.freed.pop();
    if (freed !== undefined) return freed;
    if (this.unused < this.blockCount) return this.unused++;
    return this.evict();
  }

  private evict(): number {
    const id = this.inactive.first;
    if (id === noBlock) return noBlock;
    if (this.children[id] !== 0)
      throw new Error(`block ${id} has cached children and cannot be evicted`);
    this.inactive.remove(id);
    this.events.removed(this.index.lowOf(id), this.index.highOf(id));
    this.index.remove(id);
    this.cached[id] = 0;
    const parent = this.parents[id]!;
    if (parent !== noBlock) this.children[parent]!--;
    return id;
  }

  private writeStored(log: KvEventLog, id: number): void {
    const parent = this.parents[id]!;
    const low = this.index.lowOf(id);
    const high = this.index.highOf(id);
    const blockLow = this.blockLow[id]!;
    const blockHigh = this.blockHigh[id]!;
    if (parent === noBlock) {
      log.storedRoot(blockLow, blockHigh, low, high);
      return;
    }
    const parentLow = this.index.lowOf(parent);
    const parentHigh = this.index.highOf(parent);
    log.storedChild(parentLow, parentHigh, blockLow, blockHigh, low, high);
  }
}
