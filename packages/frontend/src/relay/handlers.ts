/** Hot path: `onFrame` once per engine step and worker, the others a few times a request. Budget 20 µs each; a frame's entry 300 ns. */
import {
  Dispatched,
  type FrameEntry,
  type FrontendFact,
  type Leg,
  LegFailed,
  PrefillDone,
  Queued,
  type RequestHead,
  ServingError,
  TokenFrame,
  type WorkerId,
} from "@baton/protocol";
import { askRouter } from "./ask-router.ts";
import { clientError } from "./client-error.ts";
import type { RelayState } from "./relay-state.ts";
import type { RelayedRequest } from "./relayed-request.ts";
import { readBounceKey } from "./route-request.ts";
import { noRouterError } from "./serving-check.ts";

/** One handler per fact for a Frontend. */
export const factHandlers: Readonly<
  Record<FrontendFact, (state: RelayState, bytes: Uint8Array) => void>
> = {
  queued: onQueued,
  dispatched: onDispatched,
  prefilled: onPrefillDone,
  tokens: onTokens,
  failed: onLegFailed,
};

/** A router holds a request in its queue: from here on its own life signs tell whether it still does. */
function onQueued(state: RelayState, bytes: Uint8Array): void {
  const fact = Queued.decode(bytes);
  const request = state.table.find(fact);
  if (request === undefined || request.activeLeg !== fact.leg) {
    stray(state, "queued");
    return;
  }
  request.legs[fact.leg].routerId = fact.routerId;
  request.noticeByMs = Number.POSITIVE_INFINITY;
}

/** A router has sent the work to a worker. */
function onDispatched(state: RelayState, bytes: Uint8Array): void {
  const fact = Dispatched.decode(bytes);
  const request = state.table.find(fact);
  if (request === undefined || !request.legs[fact.leg].asked) {
    stray(state, "dispatched");
    endLate(state, fact, fact.workerId);
    return;
  }
  dispatched(state, request, fact.leg, fact.workerId, fact.generation);
  noteChoice(request, fact);
  // The router may have chosen a worker in the moment in which it was lost, and this notice come after that news.
  if (request.activeLeg !== fact.leg || !isGone(state, fact)) return;
  const error = new ServingError("worker_lost", { workerId: fact.workerId, why: "lost before" });
  request.send({ type: "lost", error });
}

function noteChoice({ legs }: RelayedRequest, fact: Dispatched): void {
  const leg = legs[fact.leg];
  if (leg.workerId !== fact.workerId || leg.generation !== fact.generation) return;
  leg.dpRank = fact.dpRank;
  leg.overlapBlocks = fact.overlapBlocks;
}

/** Whether this life of a worker is known to be over. One that is not known yet may be new. */
function isGone(state: RelayState, { workerId, generation }: Dispatched): boolean {
  const worker = state.view.worker(workerId);
  if (worker === undefined || worker.generation < generation) return false;
  return worker.generation > generation || worker.state === "lost";
}

/** The prompt's KV is computed and staged, or the generation has ended with its first token. */
function onPrefillDone(state: RelayState, bytes: Uint8Array): void {
  const fact = PrefillDone.decode(bytes);
  const request = state.table.find(fact);
  // Workers say it again while nobody fetches the KV.
  if (request?.prefillDone?.workerId === fact.workerId) return;
  if (request?.activeLeg !== "prefill" || !isFrom(state, request, "prefill", fact)) {
    stray(state, "prefilled");
    endLate(state, fact, fact.workerId);
    return;
  }
  request.prefillDone = fact;
  request.cachedTokens = fact.cachedTokens;
  request.promptLogprobs = fact.promptLogprobs;
  if (fact.handoff === null) request.legs.prefill.isOver = true;
  const ended = fact.finishReasons.every((reason) => reason !== null);
  if (!ended && fact.handoff === null) {
    const problem = "prefill goes on but staged nothing";
    request.send({ type: "failed", error: new ServingError("engine_protocol", { problem }) });
    return;
  }
  if (ended) takeFirstTokens(state, request, fact);
  request.send({ type: "prefill.done", ended });
}

/** A leg failed before its first frame. */
function onLegFailed(state: RelayState, bytes: Uint8Array): void {
  const fact = LegFailed.decode(bytes);
  const request = state.table.find(fact);
  const isLate = request?.state === "decode.streaming" && fact.leg === "prefill";
  if (request === undefined || isLate || !request.legs[fact.leg].asked) {
    stray(state, "failed");
    return;
  }
  const leg = request.legs[fact.leg];
  const worker = leg.workerId ?? state.view.worker(fact.actorId)?.id;
  if (worker === fact.actorId) {
    const generation = state.view.worker(fact.actorId)?.generation ?? leg.generation;
    dispatched(state, request, fact.leg, fact.actorId, generation);
  } else {
    leg.isRefused = true;
  }
  leg.isOver = true;
  request.send({ type: "failed", error: clientError(fact.error) });
}

/** Frames come through the intake, which puts them in order. */
function onTokens(state: RelayState, bytes: Uint8Array): void {
  const frame = TokenFrame.decode(bytes);
  if (state.table.isOfThisLife(frame.frontendGeneration)) state.frames.take(frame);
  else stray(state, "tokens");
}

/** Whether a worker of that generation is known, or has something to say to a request that waits for such a worker. */
export function isExpectedFrame(state: RelayState, frame: TokenFrame): boolean {
  const { workerId, generation } = frame;
  if (state.view.worker(workerId)?.generation === generation) return true;
  return frame.entries.some(({ stream }) => {
    const leg = state.table.live.get(stream)?.legs.decode;
    if (leg === undefined || !leg.asked) return false;
    return leg.workerId === null || (leg.workerId === workerId && leg.generation === generation);
  });
}

/** Gives each entry of a frame to its request. */
export function deliverFrame(state: RelayState, frame: TokenFrame): void {
  for (const entry of frame.entries) {
    const request = state.table.live.get(entry.stream);
    if (request !== undefined && isFrom(state, request, "decode", frame)) {
      takeEntry(state, request, entry);
    } else {
      stray(state, "tokens");
      if (entry.end === null) endLateStream(state, entry.stream, frame.workerId);
    }
  }
}

/** Nobody listened for a routing request. */
export function onUndeliverable(state: RelayState, key: string): void {
  const bounce = readBounceKey(key);
  const request = bounce === null ? undefined : state.table.live.get(bounce.stream);
  if (bounce === null || request === undefined || request.activeLeg !== bounce.leg) return;
  const leg = request.legs[bounce.leg];
  if (leg.namedRouterId !== null) {
    // That one does not serve this model just now; nobody has heard of the request.
    askRouter(state, request, bounce.leg, null);
    return;
  }
  leg.isOver = true;
  leg.isRefused = true;
  request.send({ type: "failed", error: noRouterError(state, bounce.leg) });
}

function dispatched(
  state: RelayState,
  request: RelayedRequest,
  leg: Leg,
  workerId: Dispatched["workerId"],
  generation: number,
): void {
  state.table.assign(request, leg, workerId, generation);
  if (request.activeLeg !== leg) return;
  request.noticeByMs = Number.POSITIVE_INFINITY;
  request.askAtMs = Number.POSITIVE_INFINITY;
  request.send({ type: leg === "prefill" ? "prefill.dispatched" : "decode.dispatched" });
}

/** The ticket's first tokens are shown only where there is no decode leg to bring them. */
function takeFirstTokens(state: RelayState, request: RelayedRequest, fact: PrefillDone): void {
  fact.firstTokens.forEach((token, choice) => {
    request.output?.accept({
      stream: request.stream,
      choice,
      offset: 0,
      tokens: [token.id],
      logprobs: token.logprobs === null ? null : [token.logprobs],
      end: {
        reason: fact.finishReasons[choice] ?? "length",
        error: null,
        cachedTokens: fact.cachedTokens,
      },
    });
  });
  state.pump.write(request);
}

/** Whether the sender is the worker that has the leg; its first word may come before the router's notice. */
function isFrom(
  state: RelayState,
  request: RelayedRequest,
  name: Leg,
  sender: { readonly workerId: WorkerId; readonly generation: number },
): boolean {
  const leg = request.legs[name];
  if (!leg.asked) return false;
  state.table.assign(request, name, sender.workerId, sender.generation);
  return leg.workerId === sender.workerId && leg.generation === sender.generation;
}

/** A worker has something of a request that ended early: it is told again. */
function endLate(state: RelayState, head: RequestHead, workerId: WorkerId): void {
  const ended = state.table.endedEarly(head.stream);
  if (ended?.requestId !== head.requestId) return;
  state.cleanup.abort(ended.model, workerId, ended.requestId, "ended");
}

/** Frames cross an abort on their way; only a worker that still sends after this time has not heard it. */
const abortHeardMs = 500;

function endLateStream(state: RelayState, stream: number, workerId: WorkerId): void {
  const ended = state.table.endedEarly(stream);
  if (ended === undefined || state.clock.nowMs() - ended.atMs < abortHeardMs) return;
  state.table.forgetEnded(stream);
  state.cleanup.abort(ended.model, workerId, ended.requestId, "ended");
}

function takeEntry(state: RelayState, request: RelayedRequest, entry: FrameEntry): void {
  const accepted = request.output?.accept(entry);
  if (accepted === "gap") {
    const problem = "token frames were lost on the bus";
    request.send({ type: "failed", error: new ServingError("bus_unavailable", { problem }) });
    return;
  }
  if (entry.promptLogprobs !== undefined) request.promptLogprobs ??= entry.promptLogprobs;
  const end = entry.end;
  if (request.mode !== "disaggregated") {
    const cachedTokens = entry.cachedTokens ?? end?.cachedTokens;
    if (cachedTokens !== undefined) request.cachedTokens = cachedTokens;
  }
  const error = end?.error ?? null;
  if (request.state !== "decode.streaming" && (error === null || entry.tokens.length > 0)) {
    request.send({ type: "first.token" });
  }
  if (error !== null) {
    request.legs.decode.isOver = true;
    request.send({ type: "failed", error: clientError(error) });
  } else if (accepted === "taken") {
    request.outputCame(state.clock.nowMs());
    state.pump.mark(request);
  }
}

function stray(state: RelayState, fact: FrontendFact): void {
  state.metrics.strayMessages.add(1, { fact });
}
