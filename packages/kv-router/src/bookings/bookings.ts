import type { ActorId, BookingId, WorkerId } from "@baton/protocol";

/** A claim on a worker's capacity, from selection until the worker reports that the request has ended. */
export interface BookingEntry {
  readonly bookingId: BookingId;
  /** Null for one that was learned from the worker's own report. */
  readonly frontendId: ActorId | null;
  /** 0 for one that was learned. */
  readonly frontendGeneration: number;
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  /** Blocks of the prompt; 0 for one learned from a report that does not say. */
  readonly blocks: number;
  /** 0 for one learned from a report. */
  readonly promptTokens: number;
  /** When it was booked or learned, epoch ms. */
  readonly atMs: number;
}

export interface BookingsOptions {
  /** Most bookings held at a time; further ones are refused. */
  readonly limit: number;
  /** How long a booking may be missing from its worker's reports before it counts as ended, ms. */
  readonly graceMs: number;
  /** How long nobody may speak of a booking before it counts as lost, ms; default 300,000. */
  readonly staleMs?: number;
}

/** The value where nothing is said. */
export const defaultBookingStaleMs = 300_000;

/** The outcome of booking. A booking heard twice is `duplicate`: the first stays. */
export type Booked = "booked" | "duplicate" | "full";

/** What a worker's report changed. */
export interface Reconciled {
  /** Bookings that have ended. */
  readonly ended: readonly BookingEntry[];
  /** Bookings learned from the report, and learned ones of which it says something else than before. */
  readonly learned: readonly BookingEntry[];
}

/**
 * The active sequences of all workers, as one router knows them. Every router hears every booking and every
 * worker's reports, so the tables of all routers come to the same.
 */
export interface Bookings {
  /** Bookings held. */
  readonly size: number;
  book(entry: BookingEntry): Booked;
  /** Ends one booking. */
  release(bookingId: BookingId): BookingEntry | undefined;
  get(bookingId: BookingId): BookingEntry | undefined;
  /** Somebody has spoken of a booking. */
  renew(bookingId: BookingId, nowMs: number): void;
  /**
   * Takes over what a worker says it runs. Bookings that it does not name end, except young ones, which it may not
   * have received; so do all of older generations. Unknown ones are learned, while there is room. A report of an
   * older generation than the worker's bookings changes nothing.
   */
  reconcile(report: WorkerReport, nowMs: number): Reconciled;
  /** Ends all bookings of a worker's generations up to `generation`. */
  dropWorker(workerId: WorkerId, generation: number): readonly BookingEntry[];
  /** Ends all bookings made for a Frontend's generations up to `generation`. */
  dropFrontend(frontendId: ActorId, generation: number): readonly BookingEntry[];
  /** Ends all bookings of which nobody has spoken for too long: they were neither made nor renewed nor named live since. */
  dropStale(nowMs: number): readonly BookingEntry[];
}

/** The bookings that a worker says it runs or stages. */
export interface WorkerReport {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly live: readonly LiveBooking[];
  /** Where learned bookings count whose rank the report does not tell. */
  readonly dpRank: number;
}

/** One booking that a worker says it still runs or stages. What it does not know is null. */
export interface LiveBooking {
  readonly bookingId: BookingId;
  readonly dpRank: number | null;
  readonly promptBlocks: number | null;
  /** Prompt tokens still to be computed. */
  readonly prefillTokens: number | null;
  readonly outputTokens: number | null;
}
