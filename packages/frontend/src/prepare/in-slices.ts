import type { Clock } from "@baton/runtime";

/** Work that is done in steps. `step` returns true when all is done. */
export interface SteppedWork {
  step(maxItems: number): boolean;
}

/** How long one request may hold the loop at a time, ms. */
const sliceMs = 4;

/** Does stepped work to its end, and lets everything else run every 4 ms. */
export async function inSlices(clock: Clock, work: SteppedWork, maxItems: number): Promise<void> {
  let sliceEndMs = clock.nowMs() + sliceMs;
  while (!work.step(maxItems)) {
    if (clock.nowMs() < sliceEndMs) continue;
    await clock.yield();
    sliceEndMs = clock.nowMs() + sliceMs;
  }
}
