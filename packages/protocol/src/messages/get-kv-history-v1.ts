import type { WorkerId } from "../ids.ts";
import { arrayMessage, type MessageType } from "../message-type.ts";

/**
 * Asks for what a follower lacks of one rank: batches `from` on, or with `from` null a dump. Router to KvEventAggregator, on a gap,
 * at its start and page by page; many asks for one rank cost its worker one answer. Answered by `kv-history`.
 */
export interface GetKvHistory {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  readonly from: number | null;
  /** The `lastSequence` of the dump of which another page is wanted; null for its first page. */
  readonly dump: number | null;
  /** The page of that dump, from 0. */
  readonly page: number;
  /** The oldest `lastSequence` that a dump may have to be of use. */
  readonly atLeast: number;
}

// v1: [workerId, generation, dpRank, from, dump, page, atLeast]
export const GetKvHistory: MessageType<GetKvHistory> = arrayMessage(
  "get-kv-history",
  1,
  ["workerId", "generation", "dpRank", "from", "dump", "page", "atLeast"],
  (ask) => [ask.workerId, ask.generation, ask.dpRank, ask.from, ask.dump, ask.page, ask.atLeast],
  (fields) => ({
    workerId: fields.string<WorkerId>(0),
    generation: fields.count(1),
    dpRank: fields.count(2),
    from: fields.optional(3, (reader, index) => reader.count(index)),
    dump: fields.optional(4, (reader, index) => reader.count(index)),
    page: fields.count(5),
    atLeast: fields.count(6),
  }),
);
