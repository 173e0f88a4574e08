import type { ActorId, BookingId, RequestId, WorkerId } from "../ids.ts";
import { arrayMessage, type MessageType } from "../message-type.ts";

/** Drops requests from queues and bookings. Frontend to every router of a role and model. */
export interface CancelRoute {
  readonly requestIds: readonly RequestId[];
}

// v1: [requestIds]
export const CancelRoute: MessageType<CancelRoute> = arrayMessage(
  "cancel-route",
  1,
  ["requestIds"],
  (cancel) => [cancel.requestIds],
  (fields) => ({ requestIds: fields.strings<RequestId>(0) }),
);

const noHashes = new Uint8Array();

/** A router has booked capacity on a worker. To every router of the role and model, the sender included. */
export interface Booking {
  readonly bookingId: BookingId;
  readonly routerId: ActorId;
  readonly frontendId: ActorId;
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  /** Blocks of the prompt, cached ones included. */
  readonly blocks: number;
  readonly promptTokens: number;
  /** Prefix blocks believed to be held by the worker. */
  readonly overlapBlocks: number;
  /** Prompt tokens that the worker must compute; 0 if the router does not count them. */
  readonly prefillTokens: number;
  /** Of the prompt's blocks, 8 bytes each; empty if the router counts only their number. */
  readonly sequenceHashes: Uint8Array;
  /** Output tokens to expect; null if nobody knows. */
  readonly expectedOutputTokens: number | null;
  readonly frontendGeneration: number;
}

// v1: [bookingId, routerId, frontendId, workerId, generation, dpRank, blocks, promptTokens, overlapBlocks, prefillTokens,
//      sequenceHashes, expectedOutputTokens, frontendGeneration]
export const Booking: MessageType<Booking> = arrayMessage(
  "booking",
  1,
  [
    "bookingId",
    "routerId",
    "frontendId",
    "workerId",
    "generation",
    "dpRank",
    "blocks",
    "promptTokens",
    "overlapBlocks",
    "prefillTokens",
    "sequenceHashes",
    "expectedOutputTokens",
    "frontendGeneration",
  ],
  (booking) => [
    booking.bookingId,
    booking.routerId,
    booking.frontendId,
    booking.workerId,
    booking.generation,
    booking.dpRank,
    booking.blocks,
    booking.promptTokens,
    booking.overlapBlocks,
    booking.prefillTokens,
    booking.sequenceHashes,
    booking.expectedOutputTokens,
    booking.frontendGeneration,
  ],
  (fields) => ({
    bookingId: fields.string<BookingId>(0),
    routerId: fields.string<ActorId>(1),
    frontendId: fields.string<ActorId>(2),
    workerId: fields.string<WorkerId>(3),
    generation: fields.count(4),
    dpRank: fields.count(5),
    blocks: fields.count(6),
    promptTokens: fields.count(7),
    overlapBlocks: fields.count(8),
    prefillTokens: fields.optional(9, (reader, index) => reader.count(index)) ?? 0,
    sequenceHashes: fields.optional(10, (reader, index) => reader.bytes(index)) ?? noHashes,
    expectedOutputTokens: fields.optional(11, (reader, index) => reader.count(index)),
    frontendGeneration: fields.optional(12, (reader, index) => reader.count(index)) ?? 0,
  }),
);
