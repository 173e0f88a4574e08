import { type ActorId, type RequestId, ServingError } from "@baton/protocol";
import type { RequestRecord } from "./request-record.ts";
import type { WorkerState } from "./state.ts";

/** Takes a request out of the worker. What the engine and the ledger hold of it is the caller's to drop. */
export function endRequest(state: WorkerState, record: RequestRecord): void {
  if (record.phase === "ended") return;
  record.moveTo("ended");
  const pull = record.pull;
  record.pull = null;
  pull?.cancel();
  state.requests.remove(record);
  state.load.ended(record.head.requestId);
}

/** Ends a request and drops all of it: the engine's part and its staged KV. Nobody is told. */
export function dropRequest(state: WorkerState, record: RequestRecord): void {
  endRequest(state, record);
  state.ledger.releaseRequest(record.head.requestId);
  state.engine.abort(record.head.requestId);
}

/** Ends a request whose engine side is gone already, and tells its Frontend once: as an end mark if it has had tokens. */
export function failRequest(state: WorkerState, record: RequestRecord, error: ServingError): void {
  if (record.phase === "ended") return;
  const wasStaged = record.phase === "staged";
  if (error.code === "overloaded") state.load.refused(record.head.requestId);
  endRequest(state, record);
  state.ledger.releaseRequest(record.head.requestId);
  // A staged prefill has had its last word. Its Frontend hears of the loss from whoever comes to fetch.
  if (wasStaged) return;
  if (record.framed) failStream(state, record, error);
  else state.facts.legFailed(record.head, record.leg, error);
}

/** Ends a request with an error of ours, the engine's side included. */
export function failAndDrop(state: WorkerState, record: RequestRecord, error: ServingError): void {
  if (record.phase === "ended") return;
  failRequest(state, record, error);
  state.engine.abort(record.head.requestId);
}

/**
 * Ends all requests of a Frontend that is lost. One that lives after all, and only had no CPU or no bus for a while, is told:
 * it would wait for nothing.
 */
export function giveUpFrontend(state: WorkerState, id: ActorId, generation: number): void {
  const problem = `${state.context.id} has not heard the Frontend for its lease`;
  const error = new ServingError("bus_unavailable", { problem });
  for (const record of state.requests.ofFrontend(id, generation)) failAndDrop(state, record, error);
  state.frames.flushAll();
  state.frames.forget(id, generation);
}

/** Drops a request that its owner gave up, now or as soon as it comes. */
export function cancelRequest(state: WorkerState, requestId: RequestId): void {
  state.cancelled.add(requestId, state.context.clock.nowMs());
  const record = state.requests.get(requestId);
  if (record !== undefined) dropRequest(state, record);
}

function failStream(state: WorkerState, record: RequestRecord, error: ServingError): void {
  for (const [choice, offset] of record.nextOffsets.entries()) {
    if (offset === -1) continue;
    state.frames.add(record.head, {
      stream: record.head.stream,
      choice,
      offset,
      tokens: [],
      logprobs: null,
      end: { reason: "error", error, cachedTokens: 0 },
    });
  }
  state.frames.flush();
}
