import { type BlockId, type BlockTable, hottest } from "./block-table.ts";

/** Most blocks that are looked at to find one that may go. */
const searchLimit = 4_096;

/**
 * Chooses what a full index gives up: a block without children that was of no use for long. A hand goes round over all blocks
 * and cools each; what is found again is warmed again.
 */
export class BlockEviction {
  readonly #blocks: BlockTable;
  #hand: BlockId = 0;
  /** The parent of the last one: prompts are given up from their end. */
  #next: BlockId = 0;

  constructor(blocks: BlockTable) {
    this.#blocks = blocks;
  }

  /** The block to give up, other than `pinned`; 0 if none was found in bounded work. */
  choose(pinned: BlockId): BlockId {
    if (this.#blocks.size === 0) return 0;
    const next = this.#next;
    if (next !== 0 && this.#mayGo(next, pinned)) return this.#take(next);
    // After so many rounds everything is cold.
    const limit = Math.min(searchLimit, (hottest + 1) * this.#blocks.highest);
    for (let looked = 0; looked < limit; looked += 1) {
      this.#hand = this.#hand >= this.#blocks.highest ? 1 : this.#hand + 1;
      if (this.#mayGo(this.#hand, pinned)) return this.#take(this.#hand);
      this.#cool(this.#hand);
    }
    return 0;
  }

  #take(id: BlockId): BlockId {
    this.#next = this.#blocks.parentOf(id);
    return id;
  }

  #mayGo(id: BlockId, pinned: BlockId): boolean {
    const blocks = this.#blocks;
    return (
      id !== pinned &&
      !blocks.isFree(id) &&
      blocks.childCountOf(id) === 0 &&
      blocks.recencyOf(id) === 0
    );
  }

  #cool(id: BlockId): void {
    if (this.#blocks.isFree(id)) return;
    const recency = this.#blocks.recencyOf(id);
    if (recency > 0) this.#blocks.putRecency(id, recency - 1);
  }
}
