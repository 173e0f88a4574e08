import type { ActorId, BookingId, WorkerId } from "@baton/protocol";
import { noBookedLoad, WorkerBookings } from "./booked-load.ts";
import type {
  Booked,
  BookedLoad,
  BookingEntry,
  Bookings,
  BookingsOptions,
  Reconciled,
  WorkerReport,
} from "./bookings.ts";

/** An empty table of bookings. */
export function createBookings(options: BookingsOptions): Bookings {
  return new BookingTable(options);
}

const nothing: Reconciled = { ended: [], learned: 0 };

class BookingTable implements Bookings {
  readonly #limit: number;
  readonly #graceMs: number;
  readonly #byId = new Map<BookingId, BookingEntry>();
  readonly #byWorker = new Map<WorkerId, WorkerBookings>();
  readonly #byFrontend = new Map<ActorId, Set<BookingEntry>>();

  constructor({ limit, graceMs }: BookingsOptions) {
    this.#limit = limit;
    this.#graceMs = graceMs;
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

  reconcile(report: WorkerReport, nowMs: number): Reconciled {
    const entries = this.#entriesOf(report.workerId);
    if (entries.some((entry) => entry.generation > report.generation)) return nothing;
    const live = new Set(report.liveBookings);
    const ended = entries.filter(
      (entry) =>
        entry.generation < report.generation ||
        (!live.has(entry.bookingId) && !this.#isYoung(entry, nowMs)),
    );
    for (const entry of ended) this.#remove(entry);
    return { ended, learned: this.#learn(report, nowMs) };
  }

  dropWorker(workerId: WorkerId): readonly BookingEntry[] {
    return this.#removeAll(this.#entriesOf(workerId));
  }

  dropOlderGenerations(workerId: WorkerId, generation: number): readonly BookingEntry[] {
    return this.#removeAll(
      this.#entriesOf(workerId).filter((entry) => entry.generation < generation),
    );
  }

  dropFrontend(frontendId: ActorId): readonly BookingEntry[] {
    return this.#removeAll([...(this.#byFrontend.get(frontendId) ?? [])]);
  }

  loadOf(workerId: WorkerId): BookedLoad {
    return this.#byWorker.get(workerId)?.load ?? noBookedLoad;
  }

  loadOfRank(workerId: WorkerId, dpRank: number): BookedLoad {
    return this.#byWorker.get(workerId)?.loadOfRank(dpRank) ?? noBookedLoad;
  }

  /** One learned from the worker's own report is never young: the worker has named it before. */
  #isYoung(entry: BookingEntry, nowMs: number): boolean {
    return !isLearned(entry) && nowMs - entry.atMs < this.#graceMs;
  }

  #learn({ workerId, generation, liveBookings, dpRank }: WorkerReport, nowMs: number): number {
    let learned = 0;
    for (const bookingId of liveBookings) {
      if (this.#byId.has(bookingId)) continue;
      if (this.size >= this.#limit) break;
      const load = { blocks: 0, promptTokens: 0, atMs: nowMs };
      this.#add({ bookingId, frontendId: null, workerId, generation, dpRank, ...load });
      learned += 1;
    }
    return learned;
  }

  #entriesOf(workerId: WorkerId): readonly BookingEntry[] {
    return [...(this.#byWorker.get(workerId)?.entries ?? [])];
  }

  #removeAll(entries: readonly BookingEntry[]): readonly BookingEntry[] {
    for (const entry of entries) this.#remove(entry);
    return entries;
  }

  #add(entry: BookingEntry): void {
    this.#byId.set(entry.bookingId, entry);
    let worker = this.#byWorker.get(entry.workerId);
    if (worker === undefined) {
      worker = new WorkerBookings();
      this.#byWorker.set(entry.workerId, worker);
    }
    worker.add(entry);
    if (entry.frontendId === null) return;
    const frontend = this.#byFrontend.get(entry.frontendId);
    if (frontend === undefined) this.#byFrontend.set(entry.frontendId, new Set([entry]));
    else frontend.add(entry);
  }

  #remove(entry: BookingEntry): void {
    this.#byId.delete(entry.bookingId);
    const worker = this.#byWorker.get(entry.workerId);
    worker?.remove(entry);
    if (worker?.load.requests === 0) this.#byWorker.delete(entry.workerId);
    if (entry.frontendId === null) return;
    const frontend = this.#byFrontend.get(entry.frontendId);
    frontend?.delete(entry);
    if (frontend?.size === 0) this.#byFrontend.delete(entry.frontendId);
  }
}

function isLearned(entry: BookingEntry): boolean {
  return entry.frontendId === null;
}
