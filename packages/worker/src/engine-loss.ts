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
  state.ledger.releaseAll();
  const generation = state.generation + 1;
  state.kvEvents.restart(generation, state.card.dpSize);
  state.frames.restart(generation);
  state.generation = generation;
  state.load.beat();
}
