/** Where a block lies, from fast to slow. */
export const storageTiers = ["device", "host", "disk"] as const;
/** One of the places where a block may lie. */
export type StorageTier = (typeof storageTiers)[number];

/**
 * Stands for one rank of one generation of a worker inside an index: a small whole number, given by a `RankSlots`. A
 * number is used again only after `removeRank` of its last holder is done.
 */
export type RankSlot = number;

/** Work that is done piece by piece, so that whoever does it can let others run in between. */
export interface IndexJob {
  /** Handles at most `maxBlocks` blocks. True when all is done; further calls then change nothing. */
  step(maxBlocks: number): boolean;
}

/**
 * What became of a run of blocks. `orphan`: the rank does not hold the block before the first, so an event was missed, and
 * nothing was stored. `dropped`: the index is full, and gave up part of it.
 */
export type Stored = "stored" | "orphan" | "dropped";

/** A rank's blocks as they are told anew. What was known of the rank serves until `commit`, which swaps in one step. */
export interface RankLoad {
  /** Adds a run, parents first. */
  store(tier: StorageTier, parent: Uint8Array | null, sequenceHashes: Uint8Array): Stored;
  /** Replaces all that was known of the rank by what was added. The job frees what is left of the old. */
  commit(): IndexJob;
  /** Forgets what was added. */
  abandon(): IndexJob;
}

/** How many leading blocks of a prompt each rank holds, by tier, indexed by slot. Reused from find to find. */
export interface Overlaps {
  /** Leading blocks on the device. Slots from `length` on hold none. */
  device: Uint32Array;
  /** Blocks in host memory that go on where those of the device end. */
  host: Uint32Array;
  /** Blocks on disk that go on where those of the device and the host end. */
  disk: Uint32Array;
  /** One more than the highest slot that was looked at. */
  length: number;
}

/**
 * Which rank holds which prefix. A block is known by its sequence hash, 8 little-endian bytes, which covers the block and all
 * before it, adapter and tenant salt included: other salts are other spaces by themselves. Runs of hashes lie one after the other.
 */
export interface PrefixIndex {
  /** Blocks that some rank holds, each counted once. */
  readonly blocks: number;
  /** Memory of the tables, bytes. */
  readonly bytes: number;
  /**
   * Adds a run of blocks, each the child of the one before, the first the child of `parent` (null: it begins a prompt).
   * A block stored twice on a tier must be removed twice.
   */
  store(
    rank: RankSlot,
    tier: StorageTier,
    parent: Uint8Array | null,
    sequenceHashes: Uint8Array,
  ): Stored;
  /** Takes blocks away from a rank. Returns how many it did not hold: they are skipped. */
  remove(rank: RankSlot, tier: StorageTier, sequenceHashes: Uint8Array): number;
  /** Takes all away from a rank: gone at once for `find`, freed by the job. The slot stays in use. */
  clearRank(rank: RankSlot): IndexJob;
  /** As `clearRank`; when the job is done the slot may stand for another rank. */
  removeRank(rank: RankSlot): IndexJob;
  /** Begins to tell a rank's blocks anew. One at a time for a rank: an earlier one is abandoned. */
  loadRank(rank: RankSlot): RankLoad;
  /** Writes each rank's unbroken prefix of the prompt into `overlaps`, growing its arrays as needed. */
  find(sequenceHashes: Uint8Array, overlaps: Overlaps): void;
  /** The sequence hashes that a rank holds on a tier, in no order: for tests and dumps. */
  blocksOf(rank: RankSlot, tier: StorageTier): Uint8Array;
}

/** An empty result, for `find` to fill. */
export function createOverlaps(): Overlaps {
  return {
    device: new Uint32Array(0),
    host: new Uint32Array(0),
    disk: new Uint32Array(0),
    length: 0,
  };
}
