import type { BookingId } from "@baton/protocol";
import type { RankSlot } from "../prefix-index/prefix-index.ts";

/** What a request that runs on a rank is to it. */
export interface ActiveRequest {
  readonly bookingId: BookingId;
  readonly rank: RankSlot;
  /** Sequence hashes of the prompt's blocks, shared ones counted once; empty if only their number is known. */
  readonly sequenceHashes: Uint8Array;
  /** Blocks of the prompt. Counted as they are where `sequenceHashes` is empty. */
  readonly blocks: number;
  /** Prompt tokens that the rank must compute; 0 if none, or if they are not tracked. */
  readonly prefillTokens: number;
  /** How long that should take, ms; null if nobody knows, and then they count in full until they are done. */
  readonly prefillMs: number | null;
  readonly promptTokens: number;
  /** Tokens a block, for the blocks of the output. */
  readonly blockSize: number;
  /** Output tokens to expect; null if nobody knows. */
  readonly expectedOutputTokens: number | null;
  readonly atMs: number;
}

/** What the requests that run come to, rank by rank (`dynamo-semantics` 3.7). */
export interface ActiveLoad {
  /** Requests in all. */
  readonly size: number;
  /** Blocks that are known by their hashes, in all: equal ones of several ranks once. */
  readonly blocks: number;
  has(bookingId: BookingId): boolean;
  /** Counts a request. One whose id is counted already changes nothing. */
  add(request: ActiveRequest): void;
  /** The worker has computed the prompt. */
  prefillCompleted(bookingId: BookingId, nowMs: number): void;
  /** How many tokens the request has put out so far. */
  produced(bookingId: BookingId, outputTokens: number): void;
  /** The request has left its rank. */
  remove(bookingId: BookingId, nowMs: number): void;
  /** Hot path: the figures of a rank. */
  requestsOf(rank: RankSlot): number;
  activeBlocksOf(rank: RankSlot): number;
  activePrefillTokensOf(rank: RankSlot, nowMs: number): number;
  /** Hot path: how many leading blocks of a prompt are active on each rank; `counts[rank]`, 0 beyond its length. */
  findActive(sequenceHashes: Uint8Array): Uint32Array;
}
