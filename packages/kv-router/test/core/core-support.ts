import type { WorkerType } from "@baton/protocol";
import {
  type CoreBooking,
  type CoreRequest,
  createRoutingCore,
  createSelector,
  type LiveBooking,
  type RoutableWorker,
  type RoutingCoreOptions,
} from "../../src/index.ts";
import { booking, frontend, worker } from "../support.ts";

export const blockSize = 10;

/** The sequence hashes of a prompt that is written as one letter a block: equal beginnings, equal hashes. */
export function hashesOf(text: string): Uint8Array {
  const hashes = new Uint8Array(8 * text.length);
  const view = new DataView(hashes.buffer);
  let state = 0x811c_9dc5;
  for (let index = 0; index < text.length; index += 1) {
    state = Math.imul(state ^ text.charCodeAt(index), 0x0100_0193) >>> 0;
    view.setUint32(8 * index, state, true);
    view.setUint32(8 * index + 4, Math.imul(state, 0x9e37_79b1) >>> 0, true);
  }
  return hashes;
}

export function routableWorker(name: string, facts: Partial<RoutableWorker> = {}): RoutableWorker {
  return {
    id: worker(name),
    generation: 1,
    workerType: "aggregated",
    dpStartRank: 0,
    dpSize: 1,
    taints: new Set(),
    draining: false,
    maxSequences: 100,
    maxBatchedTokens: 1_000,
    totalBlocks: 100,
    blockSize,
    ...facts,
  };
}

export function coreRequest(text: string, facts: Partial<CoreRequest> = {}): CoreRequest {
  return {
    nowMs: 0,
    workerType: "aggregated",
    stage: "aggregated",
    promptTokens: text.length * blockSize,
    promptBlocks: text.length,
    blockSize,
    sequenceHashes: hashesOf(text),
    ...facts,
  };
}

/** A booking of a prompt on worker w1. */
export function coreBooking(
  name: string,
  text: string,
  facts: Partial<CoreBooking> = {},
): CoreBooking {
  return {
    bookingId: booking(name),
    frontendId: frontend("f1"),
    frontendGeneration: 1,
    workerId: worker("w1"),
    generation: 1,
    dpRank: 0,
    blocks: text.length,
    promptTokens: text.length * blockSize,
    prefillTokens: text.length * blockSize,
    sequenceHashes: hashesOf(text),
    expectedOutputTokens: null,
    atMs: 0,
    ...facts,
  };
}

/** A live booking of which the worker says nothing but that it is. */
export function liveBooking(name: string, facts: Partial<LiveBooking> = {}): LiveBooking {
  return {
    bookingId: booking(name),
    dpRank: null,
    promptBlocks: null,
    prefillTokens: null,
    outputTokens: null,
    ...facts,
  };
}

/** A KV-aware core of these workers. */
export function coreOf(
  workers: readonly RoutableWorker[],
  options: Partial<RoutingCoreOptions> = {},
) {
  const core = createRoutingCore({
    selector: createSelector("kv"),
    bookings: { limit: 100, graceMs: 1_000, staleMs: 10_000 },
    ...options,
  });
  core.setWorkers(workers);
  /** The candidates as a choice for this prompt sees them. */
  const seen = (text: string, facts: Partial<CoreRequest> & { workerType?: WorkerType } = {}) => {
    const request = coreRequest(text, facts);
    core.explain(request, 0);
    return core.candidates(request.workerType);
  };
  return { core, seen };
}
