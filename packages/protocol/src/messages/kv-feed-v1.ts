import type { WorkerId } from "../ids.ts";
import { arrayMessage, type MessageType } from "../message-type.ts";

/**
 * What a feed entry does to a consumer's picture of one rank of a worker. `batch`: apply the events after `sequence − 1`.
 * `dump`: replace all of the rank. `gone`: forget the worker's generation and all before it.
 */
export type KvFeedKind = "batch" | "dump" | "gone";

/**
 * One entry of a model's ordered feed. KvEventAggregator to whoever follows. `feedSequence` counts from 1 per epoch
 * without gaps; a new epoch means that the aggregator started again.
 */
export interface KvFeed {
  readonly epoch: number;
  readonly feedSequence: number;
  readonly kind: KvFeedKind;
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  /** The worker's own batch number; of a dump, the newest one that it covers. */
  readonly sequence: number;
  /** The worker's bytes, unopened; empty for `gone`. */
  readonly events: Uint8Array;
}

// v1: [epoch, feedSequence, kind, workerId, generation, dpRank, sequence, events]
export const KvFeed: MessageType<KvFeed> = arrayMessage(
  "kv-feed",
  1,
  ["epoch", "feedSequence", "kind", "workerId", "generation", "dpRank", "sequence", "events"],
  (entry) => [
    entry.epoch,
    entry.feedSequence,
    entry.kind,
    entry.workerId,
    entry.generation,
    entry.dpRank,
    entry.sequence,
    entry.events,
  ],
  (fields) => ({
    epoch: fields.count(0),
    feedSequence: fields.count(1),
    kind: fields.string<KvFeedKind>(2),
    workerId: fields.string<WorkerId>(3),
    generation: fields.count(4),
    dpRank: fields.count(5),
    sequence: fields.count(6),
    events: fields.bytes(7),
  }),
);

/** The workers' own dumps, as entries of the feed, up to `feedSequence`: apply them, then the feed after it. */
export interface KvSnapshot {
  readonly epoch: number;
  readonly feedSequence: number;
  /** `kv-feed` bytes of kind `dump`, one per worker and rank. */
  readonly dumps: readonly Uint8Array[];
}

// v1: [epoch, feedSequence, dumps]
export const KvSnapshot: MessageType<KvSnapshot> = arrayMessage(
  "kv-snapshot",
  1,
  ["epoch", "feedSequence", "dumps"],
  (snapshot) => [snapshot.epoch, snapshot.feedSequence, snapshot.dumps],
  (fields) => ({
    epoch: fields.count(0),
    feedSequence: fields.count(1),
    dumps: fields.array<Uint8Array>(2),
  }),
);
