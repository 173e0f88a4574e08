import type { RequestState } from "@baton/protocol";
import type { Clock, Timer } from "@baton/runtime";

/** How long a request may stay in each state, ms. */
export type StateDeadlines = Readonly<Partial<Record<RequestState, number>>>;

/** What the sweep looks at. Times are the clock's; `Infinity` is never. */
export interface Deadlined {
  /** When the state must have been left. */
  readonly deadlineAtMs: number;
  /** When the router that was asked must have said something. */
  readonly noticeByMs: number;
  /** When the router that was asked is to be asked whether it lives. */
  readonly askAtMs: number;
  /** When the lease of its staged KV should begin anew. */
  readonly extendAtMs: number;
}

/** What the sweep says. Called for one request at a time; the request may leave the table meanwhile. */
export interface DeadlineListener<T> {
  deadlinePassed(request: T): void;
  noticeMissed(request: T): void;
  askDue(request: T): void;
  leaseDue(request: T): void;
  /** This process has not run for a while, so what it should have heard meanwhile may still wait to be read. */
  stoodStill(): void;
  /** Once a sweep, after the requests. */
  swept(nowMs: number): void;
}

/** A sweep that comes after this many intervals shows that the process stood still. */
const stalledSweeps = 6;

/** Looks at every live request in turn, so that no request needs a timer of its own. */
export class DeadlineSweep<T extends Deadlined> {
  readonly #clock: Clock;
  readonly #requests: ReadonlyMap<unknown, T>;
  readonly #listener: DeadlineListener<T>;
  #timer: Timer | null = null;
  #stalledMs = Number.POSITIVE_INFINITY;
  #sweptAtMs = 0;

  constructor(clock: Clock, requests: ReadonlyMap<unknown, T>, listener: DeadlineListener<T>) {
    this.#clock = clock;
    this.#requests = requests;
    this.#listener = listener;
  }

  /** Sweeps every `intervalMs` from here on. */
  start(intervalMs: number): void {
    this.#stalledMs = stalledSweeps * intervalMs;
    this.#sweptAtMs = this.#clock.nowMs();
    this.#timer ??= this.#clock.setRepeating(intervalMs, () => this.sweep());
  }

  /** Looks once. */
  sweep(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#sweptAtMs > this.#stalledMs) this.#listener.stoodStill();
    this.#sweptAtMs = nowMs;
    for (const request of this.#requests.values()) {
      if (nowMs >= request.deadlineAtMs) this.#listener.deadlinePassed(request);
      else if (nowMs >= request.noticeByMs) this.#listener.noticeMissed(request);
      else {
        if (nowMs >= request.askAtMs) this.#listener.askDue(request);
        if (nowMs >= request.extendAtMs) this.#listener.leaseDue(request);
      }
    }
    this.#listener.swept(nowMs);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
