import type { Clock, Timer } from "./clock.ts";

/** What xstate's `createActor` takes as its `clock`. */
export interface XstateClock {
  setTimeout(run: (...args: unknown[]) => void, delayMs: number): Timer;
  // biome-ignore lint/suspicious/noExplicitAny: xstate declares its handle as any.
  clearTimeout(timer: any): void;
}

/** Lets the delays of xstate machines run on an actor's clock. */
export function xstateClock(clock: Clock): XstateClock {
  return {
    setTimeout: (run, delayMs) => clock.setTimer(delayMs, run),
    clearTimeout: (timer: Timer | undefined) => timer?.cancel(),
  };
}
