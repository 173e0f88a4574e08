import { setTimeout as sleep } from "node:timers/promises";

const lookEveryMs = 10;

/** How long to look, and how often. */
export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/**
 * Looks until `look` gives something else than `undefined` and `false`, and gives that. Rejects after ten seconds, naming
 * `what` and the last thing that went wrong.
 */
export async function waitUntil<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  { timeoutMs = 10_000, everyMs = lookEveryMs }: WaitOptions = {},
): Promise<T> {
  const untilMs = performance.now() + timeoutMs;
  let problem: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      problem = undefined;
    } catch (error) {
      problem = error;
    }
    if (performance.now() >= untilMs) {
      throw new Error(`waited ${timeoutMs} ms for ${what}`, { cause: problem });
    }
    await sleep(everyMs);
  }
}

/** Rejects if `promise` takes longer, naming `what`. */
export async function within<T>(timeoutMs: number, what: string, promise: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const tooLate = sleep(timeoutMs, undefined, { signal: stop.signal }).then(() => {
    throw new Error(`${what} took longer than ${timeoutMs} ms`);
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    stop.abort();
    tooLate.catch(() => undefined);
  }
}

/** How `expect.poll` asks an observer that may hear a moment later than the one who was just asked. */
export const settles = { timeout: 10_000, interval: 50 } as const;
