import type { WorkerId } from "../ids.ts";
import { arrayMessage, isCount, type MessageType, malformed } from "../message-type.ts";

/** One rank of one generation of a worker, and how far the feed has come with it. */
export interface KvPosition {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  /** The newest batch that the feed has told or skipped; null if it has told nothing of the rank yet. */
  readonly sequence: number | null;
}

/**
 * Every rank whose events belong on a model's feed, as of entry `feedSequence`; what is not among them is gone. KvEventAggregator
 * to a follower that starts, has missed an entry or hears another epoch. Who has less of a rank than its position asks for the rest.
 */
export interface KvPositions {
  readonly epoch: number;
  readonly feedSequence: number;
  readonly ranks: readonly KvPosition[];
}

// v1: [epoch, feedSequence, [[workerId, generation, dpRank, sequence], …]]
export const KvPositions: MessageType<KvPositions> = arrayMessage(
  "kv-positions",
  1,
  ["epoch", "feedSequence", "ranks"],
  ({ epoch, feedSequence, ranks }) => [
    epoch,
    feedSequence,
    ranks.map((rank) => [rank.workerId, rank.generation, rank.dpRank, rank.sequence]),
  ],
  (fields) => ({
    epoch: fields.count(0),
    feedSequence: fields.count(1),
    ranks: fields.array(2).map(readPosition),
  }),
);

function readPosition(wire: unknown): KvPosition {
  if (!Array.isArray(wire)) throw malformed("kv-positions", "ranks");
  const [workerId, generation, dpRank, sequence] = wire as unknown[];
  if (typeof workerId !== "string" || !isCount(generation) || !isCount(dpRank)) {
    throw malformed("kv-positions", "ranks");
  }
  if (sequence !== null && !isCount(sequence)) throw malformed("kv-positions", "ranks");
  return { workerId: workerId as WorkerId, generation, dpRank, sequence };
}
