import { ServingError } from "@baton/protocol";
import { startGeneration } from "./engine-loss.ts";
import { failAndDrop } from "./request-end.ts";
import type { WorkerState } from "./state.ts";

/**
 * A later start with this worker's id was listed and is lost: this one was started with a clock that had been set back, or has
 * run beside it. Everybody has forgotten what it ran, and drops what it says, until it goes on as a still later generation.
 */
export function goOnAfter(state: WorkerState, lostGeneration: number): void {
  const { id: workerId, log } = state.context;
  const error = new ServingError("worker_lost", { workerId });
  for (const record of state.requests.all()) failAndDrop(state, record, error);
  startGeneration(state, lostGeneration + 1);
  log.warn({ lostGeneration, generation: state.generation }, "goes on after a lost later start");
}
