import {
  type BookingId,
  LoadReport,
  type ModelName,
  type Subjects,
  type WorkerId,
} from "@baton/protocol";
import type { Clock, Timer } from "@baton/runtime";
import type { EngineLoad } from "./engine.ts";
import type { Publisher } from "./publisher.ts";

/** Changes within this time share a report. */
const coalesceMs = 8;
/** Bookings of a kind kept for the next report; over it the list of live ones says the same, a heartbeat later. */
const maxKept = 4_096;

/** What a reporter reads. */
export interface LoadSource {
  readonly generation: () => number;
  readonly accepting: () => boolean;
  readonly load: () => EngineLoad;
  readonly handoffsHeld: () => number;
  readonly live: () => LiveWork;
}

/** What a worker runs or stages: ids, and `liveStateLength` numbers for each. */
export interface LiveWork {
  readonly bookings: readonly BookingId[];
  readonly states: readonly number[];
}

/** What a reporter is given. */
export interface LoadReporterDeps {
  readonly workerId: WorkerId;
  readonly model: ModelName;
  readonly subjects: Subjects;
  readonly clock: Clock;
  readonly publisher: Publisher;
  readonly source: LoadSource;
}

/** Tells routers and Frontends of this worker's load: soon after a change, and all that lives with each heartbeat. */
export class LoadReporter {
  readonly #deps: LoadReporterDeps;
  readonly #subject: string;
  #ended: BookingId[] = [];
  #prefilled: BookingId[] = [];
  #refused: BookingId[] = [];
  #sequence = 0;
  #soon: Timer | null = null;
  #beats: Timer | null = null;

  constructor(deps: LoadReporterDeps) {
    this.#deps = deps;
    this.#subject = deps.subjects.loadReported(deps.model, deps.workerId);
  }

  /** Begins the reports of each heartbeat. */
  start(heartbeatMs: number): void {
    this.#beats = this.#deps.clock.setRepeating(heartbeatMs, () => this.beat());
  }

  stop(): void {
    this.#beats?.cancel();
    this.#soon?.cancel();
    this.#beats = null;
    this.#soon = null;
  }

  /** What is held has changed. */
  changed(): void {
    if (this.#soon !== null) return;
    this.#soon = this.#deps.clock.setTimer(coalesceMs, () => {
      this.#soon = null;
      this.#report(null);
    });
  }

  /** A request has left this worker, or was refused here. */
  ended(bookingId: BookingId): void {
    this.#keep(this.#ended, bookingId);
  }

  /** A request's prompt has been computed. */
  prefilled(bookingId: BookingId): void {
    this.#keep(this.#prefilled, bookingId);
  }

  /** A request was refused for want of room. */
  refused(bookingId: BookingId): void {
    this.#keep(this.#refused, bookingId);
  }

  /** Reports at once, with all that lives. */
  beat(): void {
    this.#report(this.#deps.source.live());
  }

  #keep(list: BookingId[], bookingId: BookingId): void {
    if (list.length < maxKept) list.push(bookingId);
    this.changed();
  }

  #report(live: LiveWork | null): void {
    const { source } = this.#deps;
    const report: LoadReport = {
      workerId: this.#deps.workerId,
      generation: source.generation(),
      sequence: this.#sequence++,
      accepting: source.accepting(),
      ...source.load(),
      handoffsHeld: source.handoffsHeld(),
      endedBookings: this.#ended,
      liveBookings: live?.bookings ?? null,
      prefilledBookings: this.#prefilled,
      refusedBookings: this.#refused,
      liveStates: live?.states ?? null,
    };
    const unsent = this.#deps.publisher.publish(this.#subject, LoadReport.encode(report));
    if (unsent !== null) return;
    this.#ended = [];
    this.#prefilled = [];
    this.#refused = [];
  }
}
