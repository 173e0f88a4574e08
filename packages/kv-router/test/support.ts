import {
  type ActorId,
  actorId,
  type BookingId,
  requestId,
  type WorkerId,
  workerId,
} from "@baton/protocol";
import type { SelectionRequest, WorkerCandidate, WorkerSetFacts } from "../src/index.ts";

export const worker = (name: string): WorkerId => workerId(name);
export const frontend = (name: string): ActorId => actorId(name);
export const booking = (name: string): BookingId => requestId(name);

/** An idle worker of one rank, changed by `facts`. */
export function candidate(name: string, facts: Partial<WorkerCandidate> = {}): WorkerCandidate {
  return {
    workerId: worker(name),
    generation: 1,
    dpRank: 0,
    taints: new Set(),
    draining: false,
    refusesUntilMs: 0,
    requestsInFlight: 0,
    workerRequestsInFlight: facts.requestsInFlight ?? 0,
    maxRequestsInFlight: Number.POSITIVE_INFINITY,
    activeBlocks: 0,
    totalBlocks: 100,
    overlapBlocks: 0,
    hostOverlapBlocks: 0,
    diskOverlapBlocks: 0,
    bookedBlocks: 0,
    bookedOverlapBlocks: 0,
    activePrefillTokens: 0,
    maxBatchedTokens: null,
    overloaded: false,
    ...facts,
  };
}

/** A request at 1,000 ms that asks for nothing in particular. */
export function selectionRequest(facts: Partial<SelectionRequest> = {}): SelectionRequest {
  return {
    nowMs: 1_000,
    promptTokens: 100,
    blockSize: 10,
    promptBlocks: 10,
    stage: "aggregated",
    ...facts,
  };
}

/** A set with one live worker that needs what its type needs by custom. */
export function workerSet(
  workerType: WorkerSetFacts["workerType"],
  facts: Partial<WorkerSetFacts> = {},
): WorkerSetFacts {
  const needs = {
    prefill: [["decode" as const]],
    decode: [["prefill" as const]],
    aggregated: [],
  };
  return {
    workerType,
    set: workerType,
    live: 1,
    needs: needs[workerType],
    conflicts: [],
    ...facts,
  };
}
