import {
  type Generate,
  GenerationWork,
  type Leg,
  type RoutingConstraints,
  ServingError,
} from "@baton/protocol";
import type { EngineJob } from "./engine.ts";
import { pickHead } from "./fact-sender.ts";
import { RequestRecord } from "./request-record.ts";
import type { WorkerState } from "./state.ts";
import { unsupportedFeature } from "./unsupported-feature.ts";

const hashBytes = 8;

/** A request that was let in. */
export interface Admitted {
  readonly record: RequestRecord;
  readonly job: EngineJob;
}

/**
 * Lets a command in, or refuses it with one `leg-failed`. Null if it was refused, if it was cancelled before it came or
 * its Frontend is gone, if it is here already, or if it is for a later start of this worker.
 */
export function admit(
  state: WorkerState,
  command: Generate,
  how: {
    readonly leg: Leg;
    /** Whether the prompt is computed here, and not fetched. */
    readonly computesPrompt: boolean;
    readonly decodeConstraints?: RoutingConstraints | null;
  },
): Admitted | null {
  const { leg, computesPrompt, decodeConstraints = null } = how;
  const head = pickHead(command);
  if (state.requests.get(head.requestId) !== undefined) {
    state.context.log.warn({ requestId: head.requestId, leg }, "request is here already");
    return null;
  }
  if (command.generation > state.generation) {
    // A later start of this worker runs beside this one and hears the same: it answers, and the booking is its.
    state.context.log.debug({ requestId: head.requestId, leg }, "request is for a later start");
    return null;
  }
  const isCancelled = state.cancelled.has(head.requestId, state.context.clock.nowMs());
  if (isCancelled || state.frontends.isReplaced(head.frontendId, head.frontendGeneration)) {
    state.load.ended(head.requestId);
    return null;
  }
  try {
    const job = jobOf(state, command);
    const record = new RequestRecord({
      head,
      leg,
      dpRank: job.dpRank,
      promptTokens: job.tokens.length,
      choices: job.params.n ?? 1,
      decodeConstraints,
      computesPrompt,
    });
    state.requests.add(record);
    state.load.changed();
    return { record, job };
  } catch (caught) {
    // Whatever is wrong with the command, its Frontend hears it: this is the worker's edge.
    const error = ServingError.from(caught);
    state.facts.legFailed(head, leg, error);
    if (error.code === "overloaded") state.load.refused(head.requestId);
    state.load.ended(head.requestId);
    return null;
  }
}

/** Checks a command and opens its work. Throws the error that its Frontend is to hear. */
function jobOf(state: WorkerState, command: Generate): EngineJob {
  checkIntake(state, command.generation);
  const { card } = state;
  if (!Number.isInteger(command.dpRank) || command.dpRank < 0 || command.dpRank >= card.dpSize) {
    throw new ServingError("unknown_worker", { dpRank: command.dpRank, dpSize: card.dpSize });
  }
  const work = GenerationWork.decode(command.work);
  const { tokens, params } = work;
  if (tokens.length === 0) throw new ServingError("invalid_request", { problem: "empty prompt" });
  if (tokens.length >= card.contextLength) {
    throw new ServingError("context_length_exceeded", {
      promptTokens: tokens.length,
      contextLength: card.contextLength,
    });
  }
  const hashesLength = Math.floor(tokens.length / card.blockSize) * hashBytes;
  if (
    command.blockHashes.length !== hashesLength ||
    command.sequenceHashes.length !== hashesLength
  ) {
    throw new ServingError("malformed_message", { message: "work", field: "blockHashes" });
  }
  const feature = unsupportedFeature(params, work.lora, card.capabilities);
  if (feature !== null) throw new ServingError("unsupported", { param: feature });
  return {
    requestId: command.requestId,
    dpRank: command.dpRank,
    tokens,
    blockHashes: command.blockHashes,
    sequenceHashes: command.sequenceHashes,
    params,
    lora: work.lora,
    salt: work.salt,
  };
}

function checkIntake(state: WorkerState, generation: number): void {
  const workerId = state.context.id;
  if (generation !== state.generation) {
    throw new ServingError("worker_lost", { workerId, generation, now: state.generation });
  }
  if (state.intake === "draining") throw new ServingError("draining", { workerId });
  if (state.engineError !== null) throw state.engineError;
  if (state.requests.size >= state.config.maxRequests) {
    throw new ServingError("overloaded", { workerId, maxRequests: state.config.maxRequests });
  }
}
