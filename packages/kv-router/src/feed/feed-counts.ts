/** What became of a feed that was not simply in order. */
export interface FeedCounts {
  /** Entries of the feed that were missed. */
  feedGaps: number;
  /** Aggregators that were heard, one after the other. */
  epochs: number;
  /** Entries of an aggregator that speaks no more. */
  staleEpochs: number;
  /** Batches that were applied. */
  batches: number;
  /** Batches that had come before. */
  repeats: number;
  /** Gaps in the batches of a rank. */
  rankGaps: number;
  /** Recoveries that ended well. */
  recovered: number;
  /** Answers that did not help, or did not come. */
  failedAsks: number;
  /** Dumps that replaced all that was known of a rank. */
  dumps: number;
  /** Dumps that were asked for because blocks had no parent. */
  resyncs: number;
  /** Blocks that were left out because the rank does not hold their parent. */
  orphans: number;
  /** Times that the index was full, and gave up part of it. */
  dropped: number;
  /** Bodies and events that cannot be read. */
  malformed: number;
  /** Batches that were pushed out of a full buffer, to be asked for again. */
  overflows: number;
  /** Entries of a generation that is gone. */
  fenced: number;
  /** Entries of workers that this router does not route to. */
  unwanted: number;
  /** Entries that came when no rank more may be followed. */
  refused: number;
}

/** Zero of everything. */
export function makeFeedCounts(): FeedCounts {
  return {
    feedGaps: 0,
    epochs: 0,
    staleEpochs: 0,
    batches: 0,
    repeats: 0,
    rankGaps: 0,
    recovered: 0,
    failedAsks: 0,
    dumps: 0,
    resyncs: 0,
    orphans: 0,
    dropped: 0,
    malformed: 0,
    overflows: 0,
    fenced: 0,
    unwanted: 0,
    refused: 0,
  };
}
