import { ServingError } from "@baton/protocol";
import type { Clock, Timer } from "./clock.ts";
import { EventHeap, type HeapEvent } from "./event-heap.ts";
import { RealClock } from "./real-clock.ts";

interface TimerEvent extends HeapEvent {
  run: (() => void) | null;
  readonly intervalMs: number | null;
}

/** Events between two real turns of the event loop, so that a test's own timeout can still fire. */
const eventsPerTurn = 2_000;
const machine = new RealClock();
const defaultStartMs = 1_700_000_000_000;
const defaultLimitMs = 600_000;

/**
 * Time that moves when the test or the simulation moves it. Timers fire in the order of (due time, order of
 * setting); all promise work that one has set off is done before the next fires. Nothing real is waited for.
 */
export class VirtualClock implements Clock {
  readonly #heap = new EventHeap<TimerEvent>();
  #nowMs: number;
  #sequence = 0;
  #oneShots = 0;
  #repeating = 0;
  #isRunning = false;
  #eventsRun = 0;

  constructor(startMs = defaultStartMs) {
    this.#nowMs = startMs;
  }

  /** Timers that are set, repeating ones included: 0 when nothing is left behind. */
  get pendingTimers(): number {
    return this.#oneShots + this.#repeating;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  setTimer(delayMs: number, run: () => void): Timer {
    return this.#set(delayMs, run, null);
  }

  setRepeating(intervalMs: number, run: () => void): Timer {
    return this.#set(intervalMs, run, Math.max(intervalMs, Number.MIN_VALUE));
  }

  yield(): Promise<void> {
    return this.sleep(0);
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.setTimer(delayMs, resolve));
  }

  /** Fires everything that is due in the next `ms`, and leaves the clock there. Rejects with what a timer throws. */
  advanceBy(ms: number): Promise<void> {
    return this.runUntil(this.#nowMs + ms);
  }

  /** Fires everything due up to the epoch time `untilMs`, and leaves the clock there. */
  async runUntil(untilMs: number): Promise<void> {
    await this.#run(() => (this.#heap.peek()?.atMs ?? Number.POSITIVE_INFINITY) <= untilMs);
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /** Fires until no one-shot timer is left; repeating ones fire on the way. Throws after `limitMs` of virtual time. */
  async runUntilIdle(limitMs = defaultLimitMs): Promise<void> {
    const untilMs = this.#nowMs + limitMs;
    await this.#run(() => {
      if (this.#oneShots === 0) return false;
      if (this.#nowMs <= untilMs) return true;
      throw new ServingError("internal", { problem: `not idle after ${limitMs} virtual ms` });
    });
  }

  /** Fires until `condition` holds. False if it does not within `limitMs` of virtual time or nothing is left to fire. */
  async runUntilTrue(condition: () => boolean, limitMs = defaultLimitMs): Promise<boolean> {
    const untilMs = this.#nowMs + limitMs;
    await this.#run(
      () => !condition() && (this.#heap.peek()?.atMs ?? Number.POSITIVE_INFINITY) <= untilMs,
    );
    return condition();
  }

  #set(delayMs: number, run: () => void, intervalMs: number | null): Timer {
    const event: TimerEvent = {
      atMs: this.#nowMs + Math.max(delayMs, 0),
      sequence: this.#sequence++,
      run,
      intervalMs,
    };
    this.#heap.push(event);
    this.#count(event, 1);
    return {
      cancel: () => {
        if (event.run === null) return;
        event.run = null;
        this.#count(event, -1);
      },
    };
  }

  #count(event: TimerEvent, change: number): void {
    if (event.intervalMs === null) this.#oneShots += change;
    else this.#repeating += change;
  }

  async #run(goesOn: () => boolean): Promise<void> {
    if (this.#isRunning) throw new ServingError("internal", { problem: "the clock runs already" });
    this.#isRunning = true;
    try {
      await settle();
      while (this.#dropCancelled() && goesOn()) {
        this.#fireNext();
        this.#eventsRun += 1;
        await (this.#eventsRun % eventsPerTurn === 0 ? machine.yield() : settle());
      }
    } finally {
      this.#isRunning = false;
    }
  }

  /** Takes cancelled events off the top; true if one is left. */
  #dropCancelled(): boolean {
    while (this.#heap.peek()?.run === null) this.#heap.pop();
    return this.#heap.size > 0;
  }

  #fireNext(): void {
    const event = this.#heap.pop();
    if (event === undefined) return;
    this.#nowMs = Math.max(this.#nowMs, event.atMs);
    const run = event.run;
    if (event.intervalMs === null) {
      event.run = null;
      this.#oneShots -= 1;
    } else {
      event.atMs += event.intervalMs;
      event.sequence = this.#sequence++;
      this.#heap.push(event);
    }
    run?.();
  }
}

/** A clock for unit tests that moves by hand. */
export { VirtualClock as ManualClock };

/** Node runs a next tick only when the queue of promise jobs is empty, however long their chains are. */
function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
