import { KvHandoff, type PrefillDone, ServingError } from "@baton/protocol";
import type { Timer } from "@baton/runtime";
import type { PrefillResult } from "./engine.ts";
import { endRequest, failAndDrop } from "./request-end.ts";
import type { RequestRecord } from "./request-record.ts";
import type { WorkerState } from "./state.ts";

/** The end of a prefill: stages its KV with a ticket, or frees it if every choice has ended, and tells the Frontend. */
export function finishPrefill(
  state: WorkerState,
  record: RequestRecord,
  result: PrefillResult,
): void {
  const goesOn = result.finishReasons.some((reason) => reason === null);
  try {
    const ticket = goesOn ? stage(state, record, result) : null;
    const fact = factOf(state, record, result, ticket);
    const unsent = state.facts.prefillDone(fact);
    if (unsent !== null) throw unsent;
    record.prefillDone = fact;
    record.stagedAtMs = state.context.clock.nowMs();
  } catch (caught) {
    failPrefill(state, record, ServingError.from(caught));
    return;
  }
  if (goesOn) return;
  endRequest(state, record);
  state.engine.release(record.head.requestId);
}

/** Staged KV that nobody has fetched after this is told of again, each time after so long. */
const remindAfterMs = 1_000;

/**
 * Says again what is staged: the bus of a Frontend may have been away when it was told, and would wait for the lease to
 * end. A Frontend that has given the request up answers with an abort.
 */
export function remindOfStaged(state: WorkerState): void {
  const saidBeforeMs = state.context.clock.nowMs() - remindAfterMs;
  for (const { phase, prefillDone, stagedAtMs } of state.requests.all()) {
    if (phase !== "staged" || prefillDone === null || stagedAtMs > saidBeforeMs) continue;
    state.facts.prefillDone(prefillDone);
  }
}

/** Calls `remindOfStaged` from here on. */
export function startReminders(state: WorkerState): Timer {
  return state.context.clock.setRepeating(remindAfterMs, () => remindOfStaged(state));
}

function stage(state: WorkerState, record: RequestRecord, result: PrefillResult): KvHandoff {
  const { staged, engineParams } = result;
  if (staged === null && engineParams === null) {
    throw new ServingError("engine_protocol", { problem: "the engine staged no KV" });
  }
  const ticket = state.ledger.stage(record.head.requestId, staged, {
    prefillWorkerId: state.context.id,
    prefillGeneration: state.generation,
    dpRank: record.dpRank,
    transport: staged === null ? "engine" : "blocks",
    address: staged === null ? null : state.mover.address,
    bytes: staged?.bytes ?? 0,
    blocks: staged?.blocks ?? 0,
    descriptor: state.card.descriptor,
    firstTokens: result.firstTokens,
    promptTokens: record.promptTokens,
    cachedTokens: result.cachedTokens,
    engineParams,
  });
  record.ticket = ticket;
  record.moveTo("staged");
  state.load.changed();
  return ticket;
}

function factOf(
  state: WorkerState,
  record: RequestRecord,
  result: PrefillResult,
  ticket: KvHandoff | null,
): PrefillDone {
  return {
    ...record.head,
    workerId: state.context.id,
    generation: state.generation,
    handoff: ticket === null ? null : KvHandoff.encode(ticket),
    firstTokens: result.firstTokens,
    finishReasons: result.finishReasons,
    promptTokens: record.promptTokens,
    cachedTokens: result.cachedTokens,
    promptLogprobs: result.promptLogprobs,
    decodeConstraints: record.decodeConstraints,
  };
}

/** A KV whose Frontend does not hear of it would only wait for its lease to end. */
function failPrefill(state: WorkerState, record: RequestRecord, error: ServingError): void {
  if (record.phase === "staged") {
    state.facts.legFailed(record.head, record.leg, error);
    endRequest(state, record);
    state.ledger.releaseRequest(record.head.requestId);
  } else {
    failAndDrop(state, record, error);
  }
  state.engine.release(record.head.requestId);
}
