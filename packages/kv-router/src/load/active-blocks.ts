// Hot path: `findActive` runs once a choice, budget 20 µs for 64 ranks and 512 blocks; `add` and `remove` once a booking.
// Bench: bench/load/active-load.bench.ts
import type { RankSlot } from "../prefix-index/prefix-index.ts";
import { BlockIds, noBlock } from "./block-ids.ts";
import { HolderCounts } from "./holder-counts.ts";
import { RankRows } from "./rank-rows.ts";

/** The weight of a whole block. Weights are whole numbers, so that sums do not depend on the order of what was added. */
export const fullWeight: number = 2 ** 30;

const firstBlocks = 512;

/**
 * The blocks of active prompts, rank by rank, by reference count. A block that one holder alone has on a rank counts with
 * the holder's weight, a shared one in full. Holders are small whole numbers that the caller gives.
 *
 * Most blocks are on one rank only, so a block carries one rank, its count and its holder. One on several ranks has a
 * set of ranks instead, and its counts are elsewhere. Since a hash covers all blocks before it, a rank that has one
 * block has all before it: the sets of ranks along a prompt only shrink, and two of one size are the same.
 */
export class ActiveBlocks {
  readonly #ids = new BlockIds();
  readonly #pairs = new HolderCounts();
  readonly #rows = new RankRows();
  /** By block: how many ranks have it. */
  #ranks = new Uint32Array(firstBlocks);
  /** By block: its only rank, or its row. */
  #home = new Uint32Array(firstBlocks);
  /** By block: its count and folded holders on its only rank. */
  #count = new Uint32Array(firstBlocks);
  #folded = new Uint32Array(firstBlocks);
  /** By holder: blocks that it alone has, and their weight. */
  #sole = new Uint32Array(64);
  #weight = new Float64Array(64);
  /** By rank. */
  #sums = new Float64Array(64);
  #found = new Uint32Array(64);

  /** Blocks that some rank has. */
  get size(): number {
    return this.#ids.size;
  }

  /** What is held beside the blocks, for tests: nothing when there are none. */
  get sharedSize(): number {
    return this.#pairs.size + this.#rows.size;
  }

  /** Weight of all blocks of a rank. */
  weightOf(rank: RankSlot): number {
    return this.#sums[rank] ?? 0;
  }

  /** Makes room for a rank and a holder, whose weight is full. Both must be called before anything is added for them. */
  openRank(rank: RankSlot): void {
    if (rank < this.#sums.length) return;
    const length = 2 * (rank + 1);
    this.#sums = grownFloats(this.#sums, length);
    this.#found = new Uint32Array(length);
  }

  openHolder(holder: number): void {
    if (holder >= this.#sole.length) {
      this.#sole = grown(this.#sole, 2 * (holder + 1));
      this.#weight = grownFloats(this.#weight, 2 * (holder + 1));
    }
    this.#sole[holder] = 0;
    this.#weight[holder] = fullWeight;
  }

  /** Weighs the blocks that a holder alone has. */
  weigh(rank: RankSlot, holder: number, weight: number): void {
    const change = weight - this.#weight[holder]!;
    this.#sums[rank] = this.#sums[rank]! + change * this.#sole[holder]!;
    this.#weight[holder] = weight;
  }

  /** Adds a prompt's blocks, two halves of a hash each. Returns their numbers, for `remove`. */
  add(rank: RankSlot, holder: number, hashes: Uint32Array): Uint32Array {
    const blocks = new Uint32Array(hashes.length / 2);
    for (let index = 0; index < blocks.length; index += 1) {
      const low = hashes[2 * index]!;
      const high = hashes[2 * index + 1]!;
      const known = this.#ids.find(low, high);
      blocks[index] = known === noBlock ? this.#addNew(low, high, rank, holder) : known;
      if (known !== noBlock) this.#addTo(known, rank, holder);
    }
    return blocks;
  }

  /** Takes the blocks away that `add` returned. */
  remove(rank: RankSlot, holder: number, blocks: Uint32Array): void {
    for (let index = blocks.length - 1; index >= 0; index -= 1) {
      this.#removeFrom(blocks[index]!, rank, holder);
    }
  }

  /** How many leading blocks of a prompt each rank has. The same array each time. */
  findActive(hashes: Uint32Array): Uint32Array {
    this.#found.fill(0);
    const length = hashes.length / 2;
    const first = length === 0 ? noBlock : this.#ids.find(hashes[0]!, hashes[1]!);
    if (first !== noBlock) this.#findBetween(hashes, 0, first, length, noBlock);
    return this.#found;
  }

  /** Ranks that drop out after block `from` and before block `to` get their depth. Those of `to` are among `from`'s. */
  #findBetween(hashes: Uint32Array, from: number, fromId: number, to: number, toId: number): void {
    if (this.#ranksOf(fromId) === this.#ranksOf(toId)) return;
    if (to - from === 1) {
      this.#writeDropped(fromId, toId, to);
      return;
    }
    const middle = (from + to) >>> 1;
    const middleId = this.#ids.find(hashes[2 * middle]!, hashes[2 * middle + 1]!);
    this.#findBetween(hashes, from, fromId, middle, middleId);
    this.#findBetween(hashes, middle, middleId, to, toId);
  }

  #ranksOf(id: number): number {
    return id === noBlock ? 0 : this.#ranks[id]!;
  }

  #writeDropped(id: number, nextId: number, depth: number): void {
    if (id === noBlock) return;
    const home = this.#home[id]!;
    if (this.#ranks[id] === 1) {
      this.#found[home] = depth;
      return;
    }
    const nextRanks = this.#ranksOf(nextId);
    const nextHome = nextRanks === 0 ? 0 : this.#home[nextId]!;
    const nextRow = nextRanks > 1 ? nextHome : null;
    this.#rows.write(home, nextRow, nextRanks === 1 ? nextHome : -1, this.#found, depth);
  }

  #addNew(low: number, high: number, rank: RankSlot, holder: number): number {
    const id = this.#ids.add(low, high);
    if (id >= this.#ranks.length) this.#growBlocks();
    this.#ranks[id] = 1;
    this.#home[id] = rank;
    this.#count[id] = 1;
    this.#folded[id] = holder;
    this.#gainSole(rank, holder);
    return id;
  }

  #addTo(id: number, rank: RankSlot, holder: number): void {
    if (this.#ranks[id] === 1) {
      if (this.#home[id] === rank) {
        if (this.#count[id] === 1) this.#shareSole(rank, this.#folded[id]!);
        this.#count[id] = this.#count[id]! + 1;
        this.#folded[id] = this.#folded[id]! ^ holder;
        return;
      }
      this.#spread(id);
    }
    const place = this.#pairs.find(id, rank);
    const count = this.#pairs.countAt(place);
    if (count === 0) {
      this.#pairs.put(id, rank, 1, holder);
      this.#rows.add(this.#home[id]!, rank);
      this.#ranks[id] = this.#ranks[id]! + 1;
      this.#gainSole(rank, holder);
      return;
    }
    const folded = this.#pairs.foldedAt(place);
    if (count === 1) this.#shareSole(rank, folded);
    this.#pairs.set(place, count + 1, folded ^ holder);
  }

  #removeFrom(id: number, rank: RankSlot, holder: number): void {
    if (this.#ranks[id] === 1) {
      const count = this.#count[id]! - 1;
      this.#count[id] = count;
      const folded = (this.#folded[id]! ^ holder) >>> 0;
      this.#folded[id] = folded;
      if (count === 1) this.#unshareSole(rank, folded);
      if (count > 0) return;
      this.#loseSole(rank, holder);
      this.#ranks[id] = 0;
      this.#ids.delete(id);
      return;
    }
    const place = this.#pairs.find(id, rank);
    const count = this.#pairs.countAt(place) - 1;
    if (count > 0) {
      const folded = (this.#pairs.foldedAt(place) ^ holder) >>> 0;
      this.#pairs.set(place, count, folded);
      if (count === 1) this.#unshareSole(rank, folded);
      return;
    }
    this.#pairs.delete(place);
    this.#rows.delete(this.#home[id]!, rank);
    this.#ranks[id] = this.#ranks[id]! - 1;
    this.#loseSole(rank, holder);
    if (this.#ranks[id] === 1) this.#gather(id);
  }

  /** From one rank to a set of ranks. */
  #spread(id: number): void {
    const row = this.#rows.open();
    this.#rows.add(row, this.#home[id]!);
    this.#pairs.put(id, this.#home[id]!, this.#count[id]!, this.#folded[id]!);
    this.#home[id] = row;
  }

  /** Back to one rank. */
  #gather(id: number): void {
    const row = this.#home[id]!;
    const rank = this.#rows.first(row);
    this.#rows.close(row);
    const place = this.#pairs.find(id, rank);
    this.#home[id] = rank;
    this.#count[id] = this.#pairs.countAt(place);
    this.#folded[id] = this.#pairs.foldedAt(place);
    this.#pairs.delete(place);
  }

  #gainSole(rank: RankSlot, holder: number): void {
    this.#sole[holder] = this.#sole[holder]! + 1;
    this.#sums[rank] = this.#sums[rank]! + this.#weight[holder]!;
  }

  #loseSole(rank: RankSlot, holder: number): void {
    this.#sole[holder] = this.#sole[holder]! - 1;
    this.#sums[rank] = this.#sums[rank]! - this.#weight[holder]!;
  }

  #shareSole(rank: RankSlot, holder: number): void {
    this.#sole[holder] = this.#sole[holder]! - 1;
    this.#sums[rank] = this.#sums[rank]! + fullWeight - this.#weight[holder]!;
  }

  #unshareSole(rank: RankSlot, holder: number): void {
    this.#sole[holder] = this.#sole[holder]! + 1;
    this.#sums[rank] = this.#sums[rank]! - fullWeight + this.#weight[holder]!;
  }

  #growBlocks(): void {
    const length = 2 * this.#ranks.length;
    this.#ranks = grown(this.#ranks, length);
    this.#home = grown(this.#home, length);
    this.#count = grown(this.#count, length);
    this.#folded = grown(this.#folded, length);
  }
}

function grown(old: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const array = new Uint32Array(length);
  array.set(old);
  return array;
}

function grownFloats(old: Float64Array, length: number): Float64Array<ArrayBuffer> {
  const array = new Float64Array(length);
  array.set(old);
  return array;
}
