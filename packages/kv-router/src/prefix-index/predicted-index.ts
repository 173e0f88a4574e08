import { createFlatIndex } from "./flat-index.ts";
import { highWord, lowWord } from "./hash-words.ts";
import type { IndexJob, Overlaps, PrefixIndex, RankSlot } from "./prefix-index.ts";
import { RankRecency } from "./rank-recency.ts";

/** How long a prediction holds. */
export type PredictedIndexOptions = (
  | {
      readonly policy: "ttl";
      /** After this long without another decision for the block. Rounded up to whole tenths of a second. */
      readonly ttlMs: number;
    }
  | {
      readonly policy: "lru";
      /** Until the rank's blocks are more than it has room for; null if its room is not known. */
      readonly blocksOf: (rank: RankSlot) => number | null;
    }
) & {
  /** Most blocks of all ranks together, each rank's counted by themselves; about 70 bytes each. */
  readonly maxBlocks?: number;
};

/**
 * A router's own decisions, as if the blocks of each prompt were on the device of the rank that it went to. What a prompt has
 * in common with a later one of the same rank lives as long as the later.
 */
export interface PredictedIndex {
  /** Blocks of all ranks together, each rank's counted by themselves. */
  readonly size: number;
  /** A prompt goes to a rank. */
  record(rank: RankSlot, sequenceHashes: Uint8Array, nowMs: number): void;
  /** As `PrefixIndex.find`. */
  find(sequenceHashes: Uint8Array, overlaps: Overlaps, nowMs: number): void;
  /** Forgets a rank. Its slot may stand for another one at once. */
  removeRank(rank: RankSlot): void;
  /** Forgets what is over, and frees what removed ranks had: at most 16,384 blocks of each a call. */
  sweep(nowMs: number): void;
}

const defaultMaxBlocks = 2 ** 21;
const bucketMs = 100;
const sweepBlocks = 16_384;
const recordBlocks = 1_024;
/** The end of what has no end. */
const never = 0x7fff_ffff;

export function createPredictedIndex(options: PredictedIndexOptions): PredictedIndex {
  return new Predictions(options);
}

class Predictions implements PredictedIndex {
  readonly #options: PredictedIndexOptions;
  readonly #maxBlocks: number;
  readonly #index: PrefixIndex;
  /** The rank that was recorded longest ago comes first. */
  readonly #ranks = new Map<RankSlot, RankRecency>();
  readonly #jobs: IndexJob[] = [];
  readonly #hash = new Uint8Array(8);
  readonly #hashWords = new DataView(this.#hash.buffer);
  #size = 0;
  /** Ends are counted in buckets from the first one, so that they are small numbers. */
  #firstBucket = 0;
  /** No block ends before. */
  #nextEnd = never;

  constructor(options: PredictedIndexOptions) {
    this.#options = options;
    this.#maxBlocks = options.maxBlocks ?? defaultMaxBlocks;
    // Twice, since what removed ranks had may still be there.
    this.#index = createFlatIndex({ maxBlocks: 2 * this.#maxBlocks });
  }

  get size(): number {
    return this.#size;
  }

  record(rank: RankSlot, sequenceHashes: Uint8Array, nowMs: number): void {
    const recency = this.#recencyOf(rank);
    const room = this.#roomOf(rank);
    const blocks = Math.min(sequenceHashes.length >>> 3, room);
    const known = countKnown(recency, sequenceHashes, blocks);
    const end = this.#endOf(nowMs);
    // From the end of the prompt: no block is older than those after it, so a prompt is forgotten from its end.
    for (let at = (blocks - 1) * 8; at >= 0; at -= 8) {
      recency.touch(lowWord(sequenceHashes, at), highWord(sequenceHashes, at), end);
    }
    this.#size += blocks - known;
    this.#nextEnd = Math.min(this.#nextEnd, end);
    while (recency.size > room) this.#dropOldest(rank, recency);
    this.#shrink();
    this.#work(recordBlocks);
    const stored = this.#index.store(
      rank,
      "device",
      known === 0 ? null : sequenceHashes.subarray(known * 8 - 8, known * 8),
      sequenceHashes.subarray(known * 8, blocks * 8),
    );
    // No room, in spite of the limit: better to know nothing of the rank than what the index does not.
    if (stored !== "stored") this.removeRank(rank);
  }

  find(sequenceHashes: Uint8Array, overlaps: Overlaps, nowMs: number): void {
    if (this.#isOver(this.#nextEnd, nowMs)) this.sweep(nowMs);
    this.#index.find(sequenceHashes, overlaps);
  }

  removeRank(rank: RankSlot): void {
    this.#size -= this.#ranks.get(rank)?.size ?? 0;
    this.#ranks.delete(rank);
    this.#jobs.push(this.#index.removeRank(rank));
  }

  sweep(nowMs: number): void {
    this.#work(sweepBlocks);
    let left = sweepBlocks;
    this.#nextEnd = never;
    for (const [rank, recency] of this.#ranks) {
      while (left > 0 && recency.size > 0 && this.#isOver(recency.oldestEnd, nowMs)) {
        this.#dropOldest(rank, recency);
        left -= 1;
      }
      if (recency.size === 0) this.#ranks.delete(rank);
      else this.#nextEnd = Math.min(this.#nextEnd, recency.oldestEnd);
    }
  }

  /** Frees what removed ranks had. */
  #work(maxBlocks: number): void {
    const job = this.#jobs[0];
    if (job?.step(maxBlocks)) this.#jobs.shift();
  }

  /** The rank's blocks; it is the latest of all ranks from now on. */
  #recencyOf(rank: RankSlot): RankRecency {
    const recency = this.#ranks.get(rank) ?? new RankRecency();
    this.#ranks.delete(rank);
    this.#ranks.set(rank, recency);
    return recency;
  }

  #roomOf(rank: RankSlot): number {
    if (this.#options.policy === "ttl") return this.#maxBlocks;
    return Math.min(this.#options.blocksOf(rank) ?? this.#maxBlocks, this.#maxBlocks);
  }

  #endOf(nowMs: number): number {
    if (this.#options.policy === "lru") return never;
    const bucket = Math.ceil((nowMs + this.#options.ttlMs) / bucketMs);
    if (this.#firstBucket === 0) this.#firstBucket = bucket;
    return bucket - this.#firstBucket;
  }

  #isOver(end: number, nowMs: number): boolean {
    return end !== never && (this.#firstBucket + end) * bucketMs <= nowMs;
  }

  /** Keeps to the limit: the ranks that were recorded longest ago give up their oldest blocks. */
  #shrink(): void {
    for (const [rank, recency] of this.#ranks) {
      while (this.#size > this.#maxBlocks && recency.size > 0) this.#dropOldest(rank, recency);
      if (this.#size <= this.#maxBlocks) return;
    }
  }

  #dropOldest(rank: RankSlot, recency: RankRecency): void {
    this.#hashWords.setInt32(0, recency.oldestLow, true);
    this.#hashWords.setInt32(4, recency.oldestHigh, true);
    this.#index.remove(rank, "device", this.#hash);
    recency.dropOldest();
    this.#size -= 1;
  }
}

/** How many leading blocks of a prompt are known; those after the first unknown one are not. */
function countKnown(recency: RankRecency, sequenceHashes: Uint8Array, blocks: number): number {
  let known = 0;
  while (
    known < blocks &&
    recency.has(lowWord(sequenceHashes, known * 8), highWord(sequenceHashes, known * 8))
  ) {
    known += 1;
  }
  return known;
}
