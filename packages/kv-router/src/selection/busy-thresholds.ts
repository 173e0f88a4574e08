import type { BusyThresholds } from "./policy-options.ts";

/** A capacity that nobody has told: so much that no threshold is ever passed. */
const unknownCapacity = 10_000_000;

/** What is known of a rank's load at a moment. Null says nothing: what was known stays. */
export interface RankReading {
  /** Prompt tokens that are booked and still to be computed. */
  readonly activePrefillTokens: number;
  /** Most tokens of one pass. */
  readonly maxBatchedTokens: number | null;
  /** Blocks in use, as the worker says. */
  readonly reportedBlocks: number | null;
  /** Blocks of active requests, as the router has booked them. */
  readonly bookedBlocks: number | null;
  /** Blocks there are. */
  readonly totalBlocks: number | null;
}

/** Whether any threshold is set; without, there is nothing to watch. */
export function hasBusyThresholds(thresholds: BusyThresholds): boolean {
  return (
    thresholds.activeDecodeBlocksThreshold !== null ||
    thresholds.activePrefillTokensThreshold !== null ||
    thresholds.activePrefillTokensThresholdFrac !== null
  );
}

/** Whether prompt tokens pass a threshold: more than the number, or than the whole part of the share of one pass. */
function isPrefillBusy(
  { activePrefillTokensThreshold, activePrefillTokensThresholdFrac }: BusyThresholds,
  { activePrefillTokens, maxBatchedTokens }: RankReading,
): boolean {
  if (activePrefillTokensThreshold !== null && activePrefillTokens > activePrefillTokensThreshold) {
    return true;
  }
  if (activePrefillTokensThresholdFrac === null) return false;
  const capacity = maxBatchedTokens ?? unknownCapacity;
  return activePrefillTokens > Math.floor(activePrefillTokensThresholdFrac * capacity);
}

/**
 * Whether a worker is overloaded (`dynamo-semantics` 3.10): when all of its ranks of which something is known are busy. Blocks
 * make a rank busy when either the worker's count or the router's is over the threshold, until the last of each is not.
 */
export class WorkerBusyness {
  readonly #ranks = new Map<number, RankBusyness>();

  /** Takes over what is known of a rank. New thresholds hold from the next reading on. */
  read(dpRank: number, reading: RankReading, thresholds: BusyThresholds): void {
    let rank = this.#ranks.get(dpRank);
    if (rank === undefined) {
      rank = new RankBusyness();
      this.#ranks.set(dpRank, rank);
    }
    rank.read(reading, thresholds);
  }

  get isBusy(): boolean {
    for (const rank of this.#ranks.values()) {
      if (!rank.isBusy) return false;
    }
    return this.#ranks.size > 0;
  }
}

class RankBusyness {
  #isPrefillBusy = false;
  #isReportedOver = false;
  #isBookedOver = false;

  get isBusy(): boolean {
    return this.#isPrefillBusy || this.#isReportedOver || this.#isBookedOver;
  }

  read(reading: RankReading, thresholds: BusyThresholds): void {
    this.#isPrefillBusy = isPrefillBusy(thresholds, reading);
    const { activeDecodeBlocksThreshold: share } = thresholds;
    const limit =
      share === null ? Number.POSITIVE_INFINITY : share * (reading.totalBlocks ?? unknownCapacity);
    if (reading.reportedBlocks !== null) this.#isReportedOver = reading.reportedBlocks > limit;
    if (reading.bookedBlocks !== null) this.#isBookedOver = reading.bookedBlocks > limit;
  }
}
