import type { Overlaps, PrefixIndex, RankSlot, StorageTier } from "../../src/index.ts";
import { storageTiers } from "../../src/index.ts";

/** What a rank holds, as plainly as can be: how many copies of which block, by tier. */
export class NaiveRank {
  readonly #copies = new Map<number, number>();

  store(tier: StorageTier, blocks: readonly number[]): void {
    for (const block of blocks) {
      const key = keyOf(tier, block);
      this.#copies.set(key, (this.#copies.get(key) ?? 0) + 1);
    }
  }

  /** Returns how many were absent. */
  remove(tier: StorageTier, blocks: readonly number[]): number {
    let absent = 0;
    for (const block of blocks) {
      const key = keyOf(tier, block);
      const count = this.#copies.get(key);
      if (count === undefined) absent += 1;
      else if (count === 1) this.#copies.delete(key);
      else this.#copies.set(key, count - 1);
    }
    return absent;
  }

  has(tier: StorageTier, block: number): boolean {
    return this.#copies.has(keyOf(tier, block));
  }

  hasAny(block: number): boolean {
    return storageTiers.some((tier) => this.has(tier, block));
  }

  blocksOn(tier: StorageTier): number[] {
    return [...this.#copies.keys()]
      .filter((key) => key % 3 === storageTiers.indexOf(tier))
      .map((key) => Math.floor(key / 3))
      .sort((one, other) => one - other);
  }

  /** Leading blocks that are on any tier. */
  longest(prompt: readonly number[]): number {
    const end = prompt.findIndex((block) => !this.hasAny(block));
    return end === -1 ? prompt.length : end;
  }

  /** The unbroken prefix, tier after tier. */
  overlap(prompt: readonly number[]): RankOverlap {
    const counts: number[] = [];
    let place = 0;
    for (const tier of storageTiers) {
      const start = place;
      while (place < prompt.length && this.has(tier, prompt[place]!)) place += 1;
      counts.push(place - start);
    }
    return { device: counts[0]!, host: counts[1]!, disk: counts[2]! };
  }
}

function keyOf(tier: StorageTier, block: number): number {
  return 3 * block + storageTiers.indexOf(tier);
}

/** A rank's leading blocks of a prompt. */
export interface RankOverlap {
  readonly device: number;
  readonly host: number;
  readonly disk: number;
}

/** The bytes of blocks that are known by small numbers. */
export function hashesOf(blocks: readonly number[]): Uint8Array {
  // Both halves tell blocks apart, so that an index that looks at one of them only is found out.
  const words = blocks.map((block) => (BigInt(block % 7) << 61n) | BigInt(block));
  return new Uint8Array(BigUint64Array.from(words).buffer);
}

/** The small numbers of blocks again, ascending. */
export function blocksFrom(hashes: Uint8Array): number[] {
  return [...new BigUint64Array(hashes.slice().buffer)]
    .map((word) => Number(word & 0xffff_ffffn))
    .sort((one, other) => one - other);
}

export const noOverlap: RankOverlap = { device: 0, host: 0, disk: 0 };

/** What `find` wrote for a rank. */
export function overlapOf(overlaps: Overlaps, rank: RankSlot): RankOverlap {
  return {
    device: overlaps.device[rank] ?? 0,
    host: overlaps.host[rank] ?? 0,
    disk: overlaps.disk[rank] ?? 0,
  };
}

/** Does all of a job, a few blocks at a time. */
export function finish(job: { step(maxBlocks: number): boolean }, maxBlocks = 3): void {
  for (let steps = 0; !job.step(maxBlocks); steps += 1) {
    if (steps > 100_000) throw new Error("the job has no end");
  }
}

/** The blocks that an index says a rank has on a tier, ascending. */
export function heldBlocks(index: PrefixIndex, rank: RankSlot, tier: StorageTier): number[] {
  return blocksFrom(index.blocksOf(rank, tier));
}
