import type { Clock } from "@baton/runtime";

/** A pass that ends late by up to so much does not delay the next: timers are coarse, simulated time is not. */
const longestCatchUpMs = 20;

/** When passes begin and how long to wait for their end, so that late timers do not add up. */
export class PassClock {
  readonly #clock: Clock;
  #freeAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When the next pass begins: at the end of the last one if that was just now. */
  beginMs(): number {
    const nowMs = this.#clock.nowMs();
    return nowMs - this.#freeAtMs <= longestCatchUpMs ? Math.min(nowMs, this.#freeAtMs) : nowMs;
  }

  /** Waits for the end of a pass. Others run meanwhile, also if it takes no time. */
  async waitUntil(endsAtMs: number): Promise<void> {
    this.#freeAtMs = endsAtMs;
    const delayMs = endsAtMs - this.#clock.nowMs();
    await (delayMs > 0 ? this.#clock.sleep(delayMs) : this.#clock.yield());
  }

  /** The engine has nothing to do: what comes next begins when it comes. */
  idle(): void {
    this.#freeAtMs = 0;
  }
}
