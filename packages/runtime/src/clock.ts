/** A timer that has not fired yet. */
export interface Timer {
  /** Cancels it; a second call, or one after it fired, does nothing. */
  cancel(): void;
}

/** Time as an actor knows it. In production the machine's; in a simulation virtual. */
export interface Clock {
  /** Epoch milliseconds with fractions. Never goes back. */
  nowMs(): number;
  /** Calls `run` once after `delayMs` (0 or more). */
  setTimer(delayMs: number, run: () => void): Timer;
  /** Calls `run` every `intervalMs` until cancelled. */
  setRepeating(intervalMs: number, run: () => void): Timer;
  /** Lets everything else that is due run, then resolves: between slices of long work. */
  yield(): Promise<void>;
  /** Resolves after `delayMs`. */
  sleep(delayMs: number): Promise<void>;
}
