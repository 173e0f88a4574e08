import {
  type ActorHeartbeat,
  actorId,
  type LoadReport,
  type RouteDecode,
  type RoutePrefill,
  requestId,
  workerId,
} from "@baton/protocol";
import { testGeneration } from "./builders.ts";

/** The life sign of a ready worker, unless changed. */
export function actorHeartbeat(id: string, changes: Partial<ActorHeartbeat> = {}): ActorHeartbeat {
  return {
    id,
    role: "worker",
    namespace: "test",
    model: null,
    generation: testGeneration,
    sequence: 1,
    intervalMs: 250,
    state: "ready",
    why: null,
    pid: 1,
    host: "test-host",
    admin: null,
    api: null,
    workerType: null,
    set: null,
    activation: null,
    catalog: null,
    ...changes,
  };
}

/** The report of an idle worker, unless changed. */
export function loadReport(id: string, changes: Partial<LoadReport> = {}): LoadReport {
  return {
    workerId: workerId(id),
    generation: testGeneration,
    sequence: 1,
    accepting: true,
    runningSequences: 0,
    waitingSequences: 0,
    activeBlocks: 0,
    cachedBlocks: 0,
    totalBlocks: 100,
    waitingPrefillTokens: 0,
    handoffsHeld: 0,
    endedBookings: [],
    liveBookings: null,
    prefilledBookings: [],
    refusedBookings: [],
    liveStates: null,
    ...changes,
  };
}

/** A request of Frontend `f-1` for a prefill, without rules. */
export function routePrefill(id: string, changes: Partial<RoutePrefill> = {}): RoutePrefill {
  return {
    requestId: requestId(id),
    frontendId: actorId("f-1"),
    frontendGeneration: 1,
    stream: 7,
    timeoutMs: 10_000,
    promptTokens: 128,
    blockHashes: new Uint8Array(16),
    sequenceHashes: new Uint8Array(16),
    rules: null,
    work: new Uint8Array([1, 2, 3]),
    traceparent: null,
    ...changes,
  };
}

/** A request of Frontend `f-1` for a decode worker, without rules and ticket. */
export function routeDecode(id: string, changes: Partial<RouteDecode> = {}): RouteDecode {
  return {
    ...routePrefill(id),
    handoff: null,
    overrides: null,
    pool: "decode",
    ...changes,
  };
}
