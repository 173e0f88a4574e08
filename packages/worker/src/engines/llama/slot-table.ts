/** What the child's sequences hold, as the worker knows it, and which of them may be used. */

import type { BlockChain } from "./block-chain.ts";
import type { KvHoldings } from "./kv-holdings.ts";

/** One sequence of the child. */
export class Slot {
  readonly index: number;
  busy = false;
  /** Counts up with each use. */
  lastUse = 0;
  readonly #holdings: KvHoldings;
  #chain: BlockChain | undefined;
  #held = 0;
  #heldBlocks = 0;

  constructor(index: number, holdings: KvHoldings) {
    this.index = index;
    this.#holdings = holdings;
  }

  get chain(): BlockChain | undefined {
    return this.#chain;
  }

  /** Tokens whose KV the sequence holds. */
  get held(): number {
    return this.#held;
  }

  get heldBlocks(): number {
    return this.#heldBlocks;
  }

  /** The sequence goes on with another chain, of which it holds `kept` tokens already. */
  assign(chain: BlockChain, kept: number): void {
    this.#setHeldBlocks(Math.min(this.#heldBlocks, Math.floor(kept / chain.blockSize)));
    this.#chain = chain;
    this.setHeld(kept);
  }

  setHeld(tokens: number): void {
    this.#held = tokens;
    if (this.#chain !== undefined) {
      this.#setHeldBlocks(Math.floor(tokens / this.#chain.blockSize));
    }
  }

  /** The sequence is empty, or nobody knows what it holds. */
  clear(): void {
    this.#setHeldBlocks(0);
    this.#chain = undefined;
    this.#held = 0;
  }

  /** Leading blocks of `chain`, of its first `limit`, that the sequence holds. */
  sharedBlocks(chain: BlockChain, limit: number): number {
    return this.#chain?.sharedBlocks(chain, Math.min(limit, this.#heldBlocks)) ?? 0;
  }

  #setHeldBlocks(count: number): void {
    const blocks = this.#chain?.blocks ?? [];
    while (this.#heldBlocks > count) {
      this.#heldBlocks -= 1;
      const block = blocks[this.#heldBlocks];
      if (block !== undefined) this.#holdings.drop(block);
    }
    while (this.#heldBlocks < count) {
      const block = blocks[this.#heldBlocks];
      if (block !== undefined) this.#holdings.add(block);
      this.#heldBlocks += 1;
    }
  }
}

/** All sequences of one child. */
export class SlotTable {
  readonly slots: readonly Slot[];
  #uses = 0;

  constructor(count: number, holdings: KvHoldings) {
    this.slots = Array.from({ length: count }, (_, index) => new Slot(index, holdings));
  }

  get hasIdle(): boolean {
    return this.slots.some((slot) => !slot.busy);
  }

  /** The idle sequence that holds most of the chain's first `limit` blocks. */
  findShared(chain: BlockChain, limit: number): { slot: Slot; blocks: number } | undefined {
    let best: { slot: Slot; blocks: number } | undefined;
    for (const slot of this.slots) {
      if (slot.busy) continue;
      const blocks = slot.sharedBlocks(chain, limit);
      if (blocks > (best?.blocks ?? 0)) best = { slot, blocks };
    }
    return best;
  }

  /** The idle sequence whose loss costs least: an empty one, else the longest unused. */
  findOldest(): Slot | undefined {
    const idle = this.slots.filter((slot) => !slot.busy);
    return idle.sort((a, b) => Number(a.held > 0) - Number(b.held > 0) || a.lastUse - b.lastUse)[0];
  }

  take(slot: Slot): void {
    this.#uses += 1;
    slot.busy = true;
    slot.lastUse = this.#uses;
  }
}
