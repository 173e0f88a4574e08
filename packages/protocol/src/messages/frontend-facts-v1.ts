import { fromWireError, type ServingError, toWireError } from "../errors.ts";
import type { ActorId, WorkerId } from "../ids.ts";
import { arrayMessage, type MessageType } from "../message-type.ts";
import {
  type OutputToken,
  readLogprobs,
  readOutputTokens,
  type TokenLogprobs,
  writeLogprobs,
  writeOutputTokens,
} from "./output-token.ts";
import {
  requestHeadLength as at,
  type RequestHead,
  readHead,
  requestHeadLayout,
  writeHead,
} from "./request-head.ts";
import type { RoutingConstraints } from "./routing-rules.ts";

/** Which half of a request a fact speaks of. Aggregated and decode-only work is `decode`. */
export type Leg = (typeof legs)[number];

const legs = ["prefill", "decode"] as const;

/** A router holds the request in its queue. Router to Frontend, only when it cannot dispatch at once. */
export interface Queued extends RequestHead {
  readonly leg: Leg;
  readonly routerId: ActorId;
  readonly routerGeneration: number;
}

// v1: [requestId, frontendId, frontendGeneration, stream, leg, routerId, routerGeneration]
export const Queued: MessageType<Queued> = arrayMessage(
  "queued",
  1,
  [...requestHeadLayout, "leg", "routerId", "routerGeneration"],
  (fact) => [...writeHead(fact), fact.leg, fact.routerId, fact.routerGeneration],
  (fields) => ({
    ...readHead(fields),
    leg: fields.oneOf(at, legs),
    routerId: fields.string<ActorId>(at + 1),
    routerGeneration: fields.count(at + 2),
  }),
);

/** A router has chosen a worker and sent it the work. Router to Frontend, off the critical path. */
export interface Dispatched extends RequestHead {
  readonly leg: Leg;
  readonly routerId: ActorId;
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  /** Prefix blocks that the router believes the worker holds. */
  readonly overlapBlocks: number;
  /** Time in the router's queue. */
  readonly queuedMs: number;
}

// v1: [requestId, frontendId, frontendGeneration, stream, leg, routerId, workerId, generation, dpRank, overlapBlocks,
//      queuedMs]
export const Dispatched: MessageType<Dispatched> = arrayMessage(
  "dispatched",
  1,
  [
    ...requestHeadLayout,
    "leg",
    "routerId",
    "workerId",
    "generation",
    "dpRank",
    "overlapBlocks",
    "queuedMs",
  ],
  (fact) => [
    ...writeHead(fact),
    fact.leg,
    fact.routerId,
    fact.workerId,
    fact.generation,
    fact.dpRank,
    fact.overlapBlocks,
    fact.queuedMs,
  ],
  (fields) => ({
    ...readHead(fields),
    leg: fields.oneOf(at, legs),
    routerId: fields.string<ActorId>(at + 1),
    workerId: fields.string<WorkerId>(at + 2),
    generation: fields.count(at + 3),
    dpRank: fields.count(at + 4),
    overlapBlocks: fields.count(at + 5),
    queuedMs: fields.number(at + 6),
  }),
);

/** Why a generation ended. `stop`: an end-of-generation or stop token; `length`: a limit. */
export type FinishReason = "stop" | "length";

/** A prefill has ended well. Worker to Frontend, once a request. */
export interface PrefillDone extends RequestHead {
  readonly workerId: WorkerId;
  readonly generation: number;
  /** `kv-handoff` bytes; null when every choice ended with its first token, and the KV is freed already. */
  readonly handoff: Uint8Array | null;
  readonly firstTokens: readonly OutputToken[];
  /** Per choice, null where the choice goes on. */
  readonly finishReasons: readonly (FinishReason | null)[];
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** One entry per prompt token after the first, if asked for. */
  readonly promptLogprobs: readonly (TokenLogprobs | null)[] | null;
  /** What the decode worker must or should satisfy, from the prefill worker's topology. */
  readonly decodeConstraints: RoutingConstraints | null;
}

// v1: [requestId, frontendId, frontendGeneration, stream, workerId, generation, handoff, firstTokens, finishReasons,
//      promptTokens, cachedTokens, promptLogprobs, decodeConstraints]
export const PrefillDone: MessageType<PrefillDone> = arrayMessage(
  "prefill-done",
  1,
  [
    ...requestHeadLayout,
    "workerId",
    "generation",
    "handoff",
    "firstTokens",
    "finishReasons",
    "promptTokens",
    "cachedTokens",
    "promptLogprobs",
    "decodeConstraints",
  ],
  (fact) => [
    ...writeHead(fact),
    fact.workerId,
    fact.generation,
    fact.handoff,
    writeOutputTokens(fact.firstTokens),
    fact.finishReasons,
    fact.promptTokens,
    fact.cachedTokens,
    fact.promptLogprobs === null ? null : fact.promptLogprobs.map(writeLogprobs),
    fact.decodeConstraints,
  ],
  (fields) => ({
    ...readHead(fields),
    workerId: fields.string<WorkerId>(at),
    generation: fields.count(at + 1),
    handoff: fields.optional(at + 2, (reader, index) => reader.bytes(index)),
    firstTokens: readOutputTokens(fields.array(at + 3)),
    finishReasons: fields.array<FinishReason | null>(at + 4),
    promptTokens: fields.count(at + 5),
    cachedTokens: fields.count(at + 6),
    promptLogprobs: fields.optional(at + 7, (reader, index) =>
      reader.array(index).map(readLogprobs),
    ),
    decodeConstraints: fields.optional(at + 8, (reader, index) =>
      reader.map<RoutingConstraints>(index),
    ),
  }),
);

/** A leg has failed before it emitted a token frame. Router or worker to Frontend, at most once a leg. */
export interface LegFailed extends RequestHead {
  readonly leg: Leg;
  /** The router or worker that says so. */
  readonly actorId: ActorId;
  readonly error: ServingError;
}

// v1: [requestId, frontendId, frontendGeneration, stream, leg, actorId, error]
export const LegFailed: MessageType<LegFailed> = arrayMessage(
  "leg-failed",
  1,
  [...requestHeadLayout, "leg", "actorId", "error"],
  (fact) => [...writeHead(fact), fact.leg, fact.actorId, toWireError(fact.error)],
  (fields) => ({
    ...readHead(fields),
    leg: fields.oneOf(at, legs),
    actorId: fields.string<ActorId>(at + 1),
    error: fromWireError(fields.array(at + 2)),
  }),
);
