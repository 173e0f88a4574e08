import type { Clock, Timer } from "./clock.ts";

interface Gated {
  run: (() => void) | null;
  isDue: boolean;
}

/**
 * The clock of one simulated process. Stopped (as by SIGSTOP), its timers wait and fire in the order in which they
 * came due when it goes on, a repeating one once. Killed, none fires again.
 */
export class ProcessClock implements Clock {
  readonly #clock: Clock;
  readonly #timers = new Map<Gated, Timer>();
  readonly #due: Gated[] = [];
  #phase: "running" | "paused" | "killed" = "running";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  setTimer(delayMs: number, run: () => void): Timer {
    const gated: Gated = { run, isDue: false };
    return this.#add(
      gated,
      this.#clock.setTimer(delayMs, () => {
        this.#timers.delete(gated);
        this.#fire(gated);
      }),
    );
  }

  setRepeating(intervalMs: number, run: () => void): Timer {
    const gated: Gated = { run, isDue: false };
    return this.#add(
      gated,
      this.#clock.setRepeating(intervalMs, () => this.#fire(gated)),
    );
  }

  yield(): Promise<void> {
    return this.sleep(0);
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.setTimer(delayMs, resolve));
  }

  pause(): void {
    if (this.#phase === "running") this.#phase = "paused";
  }

  resume(): void {
    if (this.#phase !== "paused") return;
    this.#phase = "running";
    const due = this.#due.splice(0);
    for (const gated of due) {
      gated.isDue = false;
      this.#fire(gated);
    }
  }

  kill(): void {
    this.#phase = "killed";
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#due.length = 0;
  }

  #add(gated: Gated, timer: Timer): Timer {
    if (this.#phase === "killed") timer.cancel();
    else this.#timers.set(gated, timer);
    return {
      cancel: () => {
        gated.run = null;
        this.#timers.delete(gated);
        timer.cancel();
      },
    };
  }

  #fire(gated: Gated): void {
    if (this.#phase === "running") {
      gated.run?.();
    } else if (this.#phase === "paused" && !gated.isDue) {
      gated.isDue = true;
      this.#due.push(gated);
    }
  }
}
