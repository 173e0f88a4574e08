import type { WorkerId } from "../ids.ts";
import { arrayMessage, type MessageType, malformed } from "../message-type.ts";

/**
 * What a feed entry says. `batch`: the events after batch `sequence − 1` of the rank. `reached`: the rank is at `sequence`, and what
 * led there is not on the feed: who has less asks for it. `gone`: the worker's generation and all before it are given up. `back`:
 * that generation lives after all, and is on the feed again.
 */
export const kvFeedKinds = ["batch", "reached", "gone", "back"] as const;
/** One of the kinds of a feed entry. */
export type KvFeedKind = (typeof kvFeedKinds)[number];

/**
 * One entry of a model's ordered feed. KvEventAggregator to whoever follows, once for each batch of each worker. `feedSequence`
 * counts from 1 per epoch without gaps; a new epoch means that another aggregator speaks, or the same one again.
 */
export interface KvFeed {
  readonly epoch: number;
  readonly feedSequence: number;
  readonly kind: KvFeedKind;
  readonly workerId: WorkerId;
  readonly generation: number;
  /** 0 for `gone` and `back`, which are about all ranks. */
  readonly dpRank: number;
  /** The worker's own batch number; 0 for `gone` and `back`. */
  readonly sequence: number;
  /** The worker's bytes, unopened; empty unless it is a batch. */
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
    kind: readKind(fields.string(2)),
    workerId: fields.string<WorkerId>(3),
    generation: fields.count(4),
    dpRank: fields.count(5),
    sequence: fields.count(6),
    events: fields.bytes(7),
  }),
);

function readKind(kind: string): KvFeedKind {
  const known = kvFeedKinds.find((each) => each === kind);
  if (known === undefined) throw malformed("kv-feed", "kind", `no kind ${kind}`);
  return known;
}
