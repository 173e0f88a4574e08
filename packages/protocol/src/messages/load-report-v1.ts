import type { BookingId, WorkerId } from "../ids.ts";
import {
  arrayMessage,
  type FieldReader,
  isCount,
  type MessageType,
  malformed,
} from "../message-type.ts";

/**
 * A worker's load. Worker to every router and Frontend of its model, on change (batched) and with each heartbeat.
 * A number that the engine does not know is null: unknown is not idle.
 */
export interface LoadReport {
  readonly workerId: WorkerId;
  readonly generation: number;
  /** Counts up by one; an older report that arrives late is dropped. */
  readonly sequence: number;
  /** False while the worker drains or its engine is down. */
  readonly accepting: boolean;
  readonly runningSequences: number | null;
  readonly waitingSequences: number | null;
  /** KV blocks referenced by running sequences and staged handoffs, shared ones counted once. */
  readonly activeBlocks: number | null;
  readonly cachedBlocks: number | null;
  readonly totalBlocks: number | null;
  /** Prompt tokens that are still to be computed. */
  readonly waitingPrefillTokens: number | null;
  readonly handoffsHeld: number;
  /** Requests that have left this worker since the last report. */
  readonly endedBookings: readonly BookingId[];
  /** All that the worker still runs or stages, with each heartbeat: what is not here has ended. Null in between. */
  readonly liveBookings: readonly BookingId[] | null;
  /** Requests whose prompt has been computed since the last report. */
  readonly prefilledBookings: readonly BookingId[];
  /** Requests that were refused for want of room since the last report; they are among the ended ones too. */
  readonly refusedBookings: readonly BookingId[];
  /** Of each live booking, in the same order: rank, prompt blocks, prompt tokens still to be computed, output tokens. */
  readonly liveStates: readonly number[] | null;
}

/** Numbers of one booking in `liveStates`. */
export const liveStateLength = 4;

const countAt = (reader: FieldReader, index: number): number => reader.count(index);
const bookingsAt = (reader: FieldReader, index: number): readonly BookingId[] =>
  reader.strings<BookingId>(index);

// v1: [workerId, generation, sequence, accepting, runningSequences, waitingSequences, activeBlocks, cachedBlocks,
//      totalBlocks, waitingPrefillTokens, handoffsHeld, endedBookings, liveBookings, prefilledBookings, refusedBookings,
//      liveStates]
export const LoadReport: MessageType<LoadReport> = arrayMessage(
  "load-report",
  1,
  [
    "workerId",
    "generation",
    "sequence",
    "accepting",
    "runningSequences",
    "waitingSequences",
    "activeBlocks",
    "cachedBlocks",
    "totalBlocks",
    "waitingPrefillTokens",
    "handoffsHeld",
    "endedBookings",
    "liveBookings",
    "prefilledBookings",
    "refusedBookings",
    "liveStates",
  ],
  (report) => [
    report.workerId,
    report.generation,
    report.sequence,
    report.accepting,
    report.runningSequences,
    report.waitingSequences,
    report.activeBlocks,
    report.cachedBlocks,
    report.totalBlocks,
    report.waitingPrefillTokens,
    report.handoffsHeld,
    report.endedBookings,
    report.liveBookings,
    report.prefilledBookings,
    report.refusedBookings,
    report.liveStates,
  ],
  (fields) => ({
    workerId: fields.string<WorkerId>(0),
    generation: fields.count(1),
    sequence: fields.count(2),
    accepting: fields.boolean(3),
    runningSequences: fields.optional(4, countAt),
    waitingSequences: fields.optional(5, countAt),
    activeBlocks: fields.optional(6, countAt),
    cachedBlocks: fields.optional(7, countAt),
    totalBlocks: fields.optional(8, countAt),
    waitingPrefillTokens: fields.optional(9, countAt),
    handoffsHeld: fields.count(10),
    endedBookings: fields.strings<BookingId>(11),
    liveBookings: fields.optional(12, bookingsAt),
    prefilledBookings: fields.optional(13, bookingsAt) ?? [],
    refusedBookings: fields.optional(14, bookingsAt) ?? [],
    liveStates: readLiveStates(fields),
  }),
);

/** Null unless there are `liveStateLength` whole numbers for each live booking. */
function readLiveStates(fields: FieldReader): readonly number[] | null {
  const states = fields.optional(15, (reader, index) => reader.array(index));
  if (states === null) return null;
  const wanted = fields.optional(12, bookingsAt)?.length ?? 0;
  if (states.length !== wanted * liveStateLength || !states.every(isCount)) {
    throw malformed("load-report", "liveStates");
  }
  return states as readonly number[];
}
