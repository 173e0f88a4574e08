import type { ActorId, BookingId, WorkerId } from "@baton/protocol";
import {
  type Booked,
  type BookingEntry,
  type Bookings,
  type BookingsOptions,
  defaultBookingStaleMs,
  type LiveBooking,
  type Reconciled,
  type WorkerReport,
} from "./bookings.ts";

/** An empty table of bookings. */
export function createBookings(options: BookingsOptions): Bookings {
  return new BookingTable(options);
}

const nothing: Reconciled = { ended: [], learned: [] };

class BookingTable implements Bookings {
  readonly #limit: number;
  readonly #graceMs: number;
  readonly #staleMs: number;
  /** When somebody last spoke of a booking. */
  readonly #spokenMs = new Map<BookingId, number>();
  readonly #byId = new Map<BookingId, BookingEntry>();
  readonly #byWorker = new Map<WorkerId, Set<BookingEntry>>();
  readonly #byFrontend = new Map<ActorId, Set<BookingEntry>>();

  constructor({ limit, graceMs, staleMs = defaultBookingStaleMs }: BookingsOptions) {
    this.#limit = limit;
    this.#graceMs = graceMs;
    this.#staleMs = staleMs;
  }

  get size(): number {
    return this.#byId.size;
  }

  book(entry: BookingEntry): Booked {
    const known = this.#byId.get(entry.bookingId);
    if (known !== undefined) {
      if (!isLearned(known)) return "duplicate";
      // The worker's report overtook the booking, which knows more.
      this.#remove(known);
    } else if (this.size >= this.#limit) {
      return "full";
    }
    this.#add(entry);
    return "booked";
  }

  release(bookingId: BookingId): BookingEntry | undefined {
    const entry = this.#byId.get(bookingId);
    if (entry !== undefined) this.#remove(entry);
    return entry;
  }

  get(bookingId: BookingId): BookingEntry | undefined {
    return this.#byId.get(bookingId);
  }

  renew(bookingId: BookingId, nowMs: number): void {
    if (this.#byId.has(bookingId)) this.#spokenMs.set(bookingId, nowMs);
  }

  reconcile(report: WorkerReport, nowMs: number): Reconciled {
    const entries = this.#entriesOf(report.workerId);
    if (entries.some((entry) => entry.generation > report.generation)) return nothing;
    const live = new Set(report.live.map(({ bookingId }) => bookingId));
    const ended = entries.filter(
      (entry) =>
        entry.generation < report.generation ||
        (!live.has(entry.bookingId) && !this.#isYoung(entry, nowMs)),
    );
    for (const entry of ended) this.#remove(entry);
    const learned: BookingEntry[] = [];
    for (const booking of report.live) {
      const entry = this.#learn(report, booking, nowMs);
      if (entry !== undefined) learned.push(entry);
    }
    return { ended, learned };
  }

  dropWorker(workerId: WorkerId, generation: number): readonly BookingEntry[] {
    const entries = this.#entriesOf(workerId);
    return this.#removeAll(entries.filter((entry) => entry.generation <= generation));
  }

  dropFrontend(frontendId: ActorId, generation: number): readonly BookingEntry[] {
    const entries = [...(this.#byFrontend.get(frontendId) ?? [])];
    return this.#removeAll(entries.filter((entry) => entry.frontendGeneration <= generation));
  }

  dropStale(nowMs: number): readonly BookingEntry[] {
    const stale: BookingEntry[] = [];
    for (const [bookingId, spokenMs] of this.#spokenMs) {
      if (nowMs - spokenMs >= this.#staleMs) stale.push(this.#byId.get(bookingId)!);
    }
    return this.#removeAll(stale);
  }

  /** One learned from the worker's own report is never young: the worker has named it before. */
  #isYoung(entry: BookingEntry, nowMs: number): boolean {
    return !isLearned(entry) && nowMs - entry.atMs < this.#graceMs;
  }

  /** Renews a booking, or learns it. Returns it if it is learned, or if what was learned has changed. */
  #learn(report: WorkerReport, live: LiveBooking, nowMs: number): BookingEntry | undefined {
    const known = this.#byId.get(live.bookingId);
    if (known === undefined) {
      if (this.size >= this.#limit) return undefined;
      return this.#add(learnedFrom(report, live, nowMs));
    }
    // The worker speaks for its own alone.
    if (known.workerId !== report.workerId) return undefined;
    this.#spokenMs.set(known.bookingId, nowMs);
    if (!isLearned(known) || !saysMore(known, live)) return undefined;
    this.#remove(known);
    return this.#add(learnedFrom({ ...report, dpRank: known.dpRank }, live, nowMs, known.blocks));
  }

  #entriesOf(workerId: WorkerId): readonly BookingEntry[] {
    return [...(this.#byWorker.get(workerId) ?? [])];
  }

  #removeAll(entries: readonly BookingEntry[]): readonly BookingEntry[] {
    for (const entry of entries) this.#remove(entry);
    return entries;
  }

  #add(entry: BookingEntry): BookingEntry {
    this.#byId.set(entry.bookingId, entry);
    this.#spokenMs.set(entry.bookingId, entry.atMs);
    addTo(this.#byWorker, entry.workerId, entry);
    if (entry.frontendId !== null) addTo(this.#byFrontend, entry.frontendId, entry);
    return entry;
  }

  #remove(entry: BookingEntry): void {
    this.#byId.delete(entry.bookingId);
    this.#spokenMs.delete(entry.bookingId);
    removeFrom(this.#byWorker, entry.workerId, entry);
    if (entry.frontendId !== null) removeFrom(this.#byFrontend, entry.frontendId, entry);
  }
}

function addTo<Key>(sets: Map<Key, Set<BookingEntry>>, key: Key, entry: BookingEntry): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([entry]));
  else set.add(entry);
}

function removeFrom<Key>(sets: Map<Key, Set<BookingEntry>>, key: Key, entry: BookingEntry): void {
  const set = sets.get(key);
  set?.delete(entry);
  if (set?.size === 0) sets.delete(key);
}

/** Whether a booking was learned from its worker's report, and not heard from who made it. */
export function isLearned(entry: BookingEntry): boolean {
  return entry.frontendId === null;
}

function saysMore(known: BookingEntry, { dpRank, promptBlocks }: LiveBooking): boolean {
  return (
    (dpRank !== null && dpRank !== known.dpRank) ||
    (promptBlocks !== null && promptBlocks !== known.blocks)
  );
}

/** What the live state does not tell is as the report says, with `blocks`. */
function learnedFrom(
  report: WorkerReport,
  live: LiveBooking,
  atMs: number,
  blocks = 0,
): BookingEntry {
  return {
    bookingId: live.bookingId,
    frontendId: null,
    frontendGeneration: 0,
    workerId: report.workerId,
    generation: report.generation,
    dpRank: live.dpRank ?? report.dpRank,
    blocks: live.promptBlocks ?? blocks,
    promptTokens: 0,
    atMs,
  };
}
