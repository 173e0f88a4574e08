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
}

// v1: [bookingId, routerId, frontendId, workerId, generation, dpRank, blocks, promptTokens, overlapBlocks]
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
  }),
);
