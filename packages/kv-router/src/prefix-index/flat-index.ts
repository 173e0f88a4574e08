import { BlockEviction } from "./block-eviction.ts";
import { BlockHoldings } from "./block-holdings.ts";
import { type BlockId, BlockTable, hottest } from "./block-table.ts";
import { highWord, lowWord } from "./hash-words.ts";
import { HolderSets, holderOf, type Member, memberOf, tierOf } from "./holder-sets.ts";
import { HolderSlots } from "./holder-slots.ts";
import { extendOverlap, resetOverlaps } from "./overlap-arrays.ts";
import {
  type IndexJob,
  type Overlaps,
  type PrefixIndex,
  type RankLoad,
  type RankSlot,
  type StorageTier,
  type Stored,
  storageTiers,
} from "./prefix-index.ts";
import { PromptRuns } from "./prompt-runs.ts";

/** What a flat index is made with. */
export interface FlatIndexOptions {
  /** Most blocks to know, about 45 bytes each. A full index gives up prefixes that nobody has asked for lately. */
  readonly maxBlocks?: number;
}

const defaultMaxBlocks = 2 ** 24;

const finished: IndexJob = { step: () => true };

/**
 * The fast index: blocks in flat tables, and for each the number of the set of those who hold it. Hot path. Bench:
 * bench/prefix-index/flat-index.bench.ts
 */
export function createFlatIndex(options: FlatIndexOptions = {}): PrefixIndex {
  return new FlatIndex(options);
}

class FlatIndex implements PrefixIndex {
  readonly #maxBlocks: number;
  readonly #blocks = new BlockTable();
  readonly #sets = new HolderSets();
  readonly #holdings = new BlockHoldings(this.#blocks, this.#sets);
  readonly #eviction = new BlockEviction(this.#blocks);
  readonly #runs = new PromptRuns(this.#blocks);
  readonly #holders = new HolderSlots();
  /** Where the jobs are in the table: one hand for all, so that many at once cost as much as one. */
  #swept: BlockId = 0;
  /** Jobs that are not done. */
  #jobs = 0;

  constructor(options: FlatIndexOptions) {
    this.#maxBlocks = options.maxBlocks ?? defaultMaxBlocks;
  }

  get blocks(): number {
    return this.#holdings.held;
  }

  get bytes(): number {
    return this.#blocks.bytes + this.#sets.bytes + this.#holdings.bytes;
  }

  store(
    rank: RankSlot,
    tier: StorageTier,
    parent: Uint8Array | null,
    sequenceHashes: Uint8Array,
  ): Stored {
    let holder = this.#holders.ofSlot(rank);
    if (holder === -1) {
      holder = this.#openHolder();
      this.#holders.assign(rank, holder);
    }
    return this.#store(holder, tier, parent, sequenceHashes);
  }

  remove(rank: RankSlot, tier: StorageTier, sequenceHashes: Uint8Array): number {
    const count = sequenceHashes.length >>> 3;
    const holder = this.#holders.ofSlot(rank);
    if (holder === -1) return count;
    const member = memberOf(holder, storageTiers.indexOf(tier));
    let absent = 0;
    let guess = 0;
    for (let at = 0; at < count * 8; at += 8) {
      const id = this.#blocks.find(
        lowWord(sequenceHashes, at),
        highWord(sequenceHashes, at),
        guess,
      );
      // Engines give prompts up from their end.
      guess = id - 1;
      if (id === 0 || !this.#holdings.take(id, member)) absent += 1;
    }
    return absent;
  }

  clearRank(rank: RankSlot): IndexJob {
    return this.#release(this.#holders.detach(rank));
  }

  removeRank(rank: RankSlot): IndexJob {
    return this.clearRank(rank);
  }

  loadRank(rank: RankSlot): RankLoad {
    const staged = this.#openHolder();
    this.#holders.stage(rank, staged);
    return {
      store: (tier, parent, sequenceHashes) =>
        this.#holders.isStaged(rank, staged)
          ? this.#store(staged, tier, parent, sequenceHashes)
          : "dropped",
      commit: () =>
        this.#holders.isStaged(rank, staged) ? this.#release(this.#holders.commit(rank)) : finished,
      abandon: () =>
        this.#holders.isStaged(rank, staged)
          ? this.#release(this.#holders.unstage(rank))
          : finished,
    };
  }

  find(sequenceHashes: Uint8Array, overlaps: Overlaps): void {
    resetOverlaps(overlaps, this.#holders.slots);
    const runs = this.#runs;
    if (!runs.jump(sequenceHashes) || !this.#mayJump()) runs.walk(sequenceHashes);
    let start = 0;
    for (let run = 0; run < runs.length; run += 1) {
      const end = runs.ends[run]!;
      this.#credit(this.#sets.membersOf(runs.sets[run]!), overlaps, start, end);
      start = end;
    }
    if (runs.deepest !== 0) this.#blocks.putRecency(runs.deepest, hottest);
  }

  #credit(members: Int32Array, overlaps: Overlaps, start: number, end: number): void {
    const { device } = overlaps;
    const slots = this.#holders.slotTable;
    const deviceOnly = this.#holdings.lower === 0;
    for (let at = 0; at < members.length; at += 1) {
      const member = members[at]!;
      const slot = slots[holderOf(member)]!;
      if (slot === -1) continue;
      if (!deviceOnly) extendOverlap(overlaps, slot, tierOf(member), start, end);
      else if (device[slot] === start) device[slot] = end;
    }
  }

  blocksOf(rank: RankSlot, tier: StorageTier): Uint8Array {
    const holder = this.#holders.ofSlot(rank);
    if (holder === -1) return new Uint8Array(0);
    const member = memberOf(holder, storageTiers.indexOf(tier));
    const words: number[] = [];
    for (let id = 1; id <= this.#blocks.highest; id += 1) {
      if (this.#blocks.isFree(id) || !this.#sets.has(this.#blocks.setOf(id), member)) continue;
      words.push(this.#blocks.lowOf(id), this.#blocks.highOf(id));
    }
    return new Uint8Array(Int32Array.from(words).buffer);
  }

  #openHolder(): number {
    const holder = this.#holders.open();
    this.#holdings.open(holder);
    return holder;
  }

  #store(
    holder: number,
    tier: StorageTier,
    parent: Uint8Array | null,
    sequenceHashes: Uint8Array,
  ): Stored {
    const blocks = this.#blocks;
    let last: BlockId = 0;
    if (parent !== null) {
      last = blocks.find(lowWord(parent, 0), highWord(parent, 0), 0);
      if (last === 0 || !this.#holdings.hasAny(last, holder)) {
        return this.#holders.hasLost(holder) ? "dropped" : "orphan";
      }
    }
    const member = memberOf(holder, storageTiers.indexOf(tier));
    const end = sequenceHashes.length & ~7;
    for (let at = 0; at < end; at += 8) {
      const id = this.#give(
        lowWord(sequenceHashes, at),
        highWord(sequenceHashes, at),
        last,
        member,
      );
      if (id === 0) {
        this.#holders.lose(holder);
        return "dropped";
      }
      last = id;
    }
    return "stored";
  }

  /** Gives a block to a member, and adds it if it is not there; 0 if there is no room for it. */
  #give(low: number, high: number, parent: BlockId, member: Member): BlockId {
    const blocks = this.#blocks;
    const known = blocks.find(low, high, parent === 0 ? 0 : parent + 1);
    if (known !== 0) {
      this.#meet(known, parent);
      this.#holdings.give(known, member);
      return known;
    }
    if (blocks.size >= this.#maxBlocks && !this.#makeRoom(parent)) return 0;
    return this.#holdings.add(low, high, parent, member);
  }

  /** A block that is known is told of again. */
  #meet(id: BlockId, parent: BlockId): void {
    const blocks = this.#blocks;
    // Its parent was not told at first. With children it may be the parent's ancestor, if somebody tells nonsense.
    if (
      parent !== 0 &&
      parent !== id &&
      blocks.parentOf(id) === 0 &&
      blocks.childCountOf(id) === 0
    ) {
      this.#holdings.adopt(id, parent);
    }
    if (blocks.recencyOf(id) === 0) blocks.putRecency(id, 1);
  }

  #makeRoom(pinned: BlockId): boolean {
    const id = this.#eviction.choose(pinned);
    if (id === 0) return false;
    for (const member of this.#sets.membersOf(this.#blocks.setOf(id))) {
      this.#holders.lose(holderOf(member));
    }
    this.#holdings.drop(id);
    return true;
  }

  /** Whether `jump` tells the truth: whoever has the first block has no block without its parent, and none off the device. */
  #mayJump(): boolean {
    if (this.#holdings.lower > 0) return false;
    if (this.#runs.length === 0 || this.#holdings.brokenHolders === 0) return true;
    for (const member of this.#sets.membersOf(this.#runs.sets[0]!)) {
      const holder = holderOf(member);
      if (this.#holdings.isBroken(holder) && this.#holders.slotOf(holder) !== -1) return false;
    }
    return true;
  }

  /** Takes holders that answer for no slot out of all blocks. */
  #release(holders: readonly number[]): IndexJob {
    let done = false;
    this.#jobs += 1;
    return {
      step: (maxBlocks) => {
        if (done) return true;
        let left = maxBlocks;
        while (left > 0 && this.#holdBlocks(holders)) {
          this.#sweep(Math.min(left, 64));
          left -= 64;
        }
        if (this.#holdBlocks(holders)) return false;
        for (const holder of holders) this.#holders.close(holder);
        done = true;
        this.#jobs -= 1;
        // The next one begins at the top again, not in the middle of a prompt.
        if (this.#jobs === 0) this.#swept = 0;
        return true;
      },
    };
  }

  #holdBlocks(holders: readonly number[]): boolean {
    return holders.some((holder) => this.#holdings.blocksOf(holder) > 0);
  }

  #sweep(count: number): void {
    const { isGone, version } = this.#holders;
    for (let left = count; left > 0; left -= 1) {
      // Downwards: children mostly lie after their parents, and a parent that goes last takes nobody with it. Upwards the end of
      // a prompt would free all of it at once.
      this.#swept = this.#swept <= 1 ? this.#blocks.highest : this.#swept - 1;
      if (!this.#blocks.isFree(this.#swept)) this.#holdings.strip(this.#swept, isGone, version);
    }
  }
}
