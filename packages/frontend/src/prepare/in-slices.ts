import type { Clock } from "@baton/runtime";

/** Work that is done in steps. `step` returns true when all is done. */
export interface SteppedWork {
  step(maxItems: number): boolean;
}

/** How long all stepped work together may hold the loop at a time, ms. */
const sliceMs = 4;
/** Work that took less does not count. */
const shortMs = 0.25;

/**
 * Does stepped work to its end, and lets everything else run every 4 ms. However many works there are, one of them goes on
 * in each turn of the loop; a new one begins at once unless this turn's time is spent.
 */
export function inSlices(clock: Clock, work: SteppedWork, maxItems: number): Promise<void> {
  let turns = turnsOfClocks.get(clock);
  if (turns === undefined) {
    turns = new Turns(clock);
    turnsOfClocks.set(clock, turns);
  }
  return turns.run(work, maxItems);
}

/** The turns of the loop, of which a clock's `yield` tells. */
class Turns {
  readonly #clock: Clock;
  readonly #waiting: ((endMs: number) => void)[] = [];
  /** When this turn's time is spent; null as long as nothing long was done in it. */
  #endMs: number | null = null;
  #isTurning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async run(work: SteppedWork, maxItems: number): Promise<void> {
    let startMs = this.#clock.nowMs();
    let endMs = this.#endMs ?? startMs + sliceMs;
    if (startMs >= endMs) {
      endMs = await this.#next();
      startMs = this.#clock.nowMs();
    }
    while (!work.step(maxItems)) {
      if (this.#clock.nowMs() < endMs) continue;
      endMs = await this.#next();
    }
    if (this.#endMs === null && this.#clock.nowMs() - startMs >= shortMs) {
      this.#endMs = startMs + sliceMs;
      this.#turn();
    }
  }

  /** Resolves in a later turn, when it is this work's, with the time at which that ends. */
  #next(): Promise<number> {
    this.#endMs ??= this.#clock.nowMs();
    const turn = new Promise<number>((resolve) => void this.#waiting.push(resolve));
    this.#turn();
    return turn;
  }

  #turn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    void this.#clock.yield().then(() => {
      this.#isTurning = false;
      const next = this.#waiting.shift();
      this.#endMs = next === undefined ? null : this.#clock.nowMs() + sliceMs;
      if (next === undefined || this.#endMs === null) return;
      next(this.#endMs);
      this.#turn();
    });
  }
}

const turnsOfClocks = new WeakMap<Clock, Turns>();
