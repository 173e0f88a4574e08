import type { ServingError } from "@baton/protocol";
import { failRequest } from "./request-end.ts";
import type { WorkerState } from "./state.ts";

/**
 * The engine is gone with all that it held: every request fails at once, staged KV is dropped, the cache is announced as
 * cleared, and what comes next is a new generation.
 */
export function loseEngine(state: WorkerState, error: ServingError): void {
  state.engineError = error;
  for (const record of state.requests.all()) failRequest(state, record, error);
  startGeneration(state, state.generation + 1);
}

/** Nothing of what was staged or announced counts any more: what comes next is another generation. */
export function startGeneration(state: WorkerState, generation: number): void {
  state.ledger.releaseAll();
  state.kvEvents.restart(generation, state.card.dpSize);
  state.frames.restart(generation);
  state.generation = generation;
  state.load.beat();
}
