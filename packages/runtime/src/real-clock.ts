import type { Clock, Timer } from "./clock.ts";

const maxTimeoutMs = 2 ** 31 - 1;

/**
 * The machine's time: epoch at process start plus a monotone counter, so it never goes back when somebody sets
 * the clock. One-shot timers keep the process alive, repeating ones do not.
 */
export class RealClock implements Clock {
  nowMs(): number {
    return performance.timeOrigin + performance.now();
  }

  setTimer(delayMs: number, run: () => void): Timer {
    if (!(delayMs > 0)) {
      const immediate = setImmediate(run);
      return { cancel: () => clearImmediate(immediate) };
    }
    const timeout = setTimeout(run, Math.min(delayMs, maxTimeoutMs));
    return { cancel: () => clearTimeout(timeout) };
  }

  setRepeating(intervalMs: number, run: () => void): Timer {
    const interval = setInterval(run, Math.min(intervalMs, maxTimeoutMs)).unref();
    return { cancel: () => clearInterval(interval) };
  }

  yield(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.setTimer(delayMs, resolve));
  }
}
