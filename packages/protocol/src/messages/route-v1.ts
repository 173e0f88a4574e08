import { arrayMessage, type FieldReader, type MessageType } from "../message-type.ts";
import {
  requestHeadLength as at,
  type RequestHead,
  readHead,
  requestHeadLayout,
  writeHead,
} from "./request-head.ts";
import type { DecodeOverrides, RoutingRules } from "./routing-rules.ts";

/** What both routing requests carry: enough to choose, and the work as bytes for the worker. */
interface RouteRequest extends RequestHead {
  /** How long the router may hold the request, ms from receipt. */
  readonly timeoutMs: number;
  readonly promptTokens: number;
  /** 8 little-endian bytes per full block of the prompt. */
  readonly blockHashes: Uint8Array;
  readonly sequenceHashes: Uint8Array;
  readonly rules: RoutingRules | null;
  /** `generation-work` bytes, passed on unopened. */
  readonly work: Uint8Array;
  /** W3C `traceparent` of the client, passed on. */
  readonly traceparent: string | null;
}

/** Asks for a prefill worker and has the prefill dispatched. Frontend to one PrefillRouter, once a request. */
export type RoutePrefill = RouteRequest;

/** Asks for a decode or aggregated worker and has the work dispatched. Frontend to one DecodeRouter, once a request. */
export interface RouteDecode extends RouteRequest {
  /** `kv-handoff` bytes of a prefill that ran; null for aggregated and decode-only serving. */
  readonly handoff: Uint8Array | null;
  /** Set when a prefill ran. */
  readonly overrides: DecodeOverrides | null;
  /** Which workers may take it: decode ones or aggregated ones. */
  readonly pool: "decode" | "aggregated";
}

const routeLayout = [
  ...requestHeadLayout,
  "timeoutMs",
  "promptTokens",
  "blockHashes",
  "sequenceHashes",
  "rules",
  "work",
  "traceparent",
] as const;

// v1: [requestId, frontendId, frontendGeneration, stream, timeoutMs, promptTokens, blockHashes, sequenceHashes,
//      rules, work, traceparent]
export const RoutePrefill: MessageType<RoutePrefill> = arrayMessage(
  "route-prefill",
  1,
  routeLayout,
  writeRoute,
  readRoute,
);

// v1: as route-prefill, then [handoff, overrides, pool]
export const RouteDecode: MessageType<RouteDecode> = arrayMessage(
  "route-decode",
  1,
  [...routeLayout, "handoff", "overrides", "pool"],
  (request) => [...writeRoute(request), request.handoff, request.overrides, request.pool],
  (fields) => ({
    ...readRoute(fields),
    handoff: fields.optional(at + 7, (reader, index) => reader.bytes(index)),
    overrides: fields.optional(at + 8, (reader, index) => reader.map<DecodeOverrides>(index)),
    pool: fields.oneOf(at + 9, ["decode", "aggregated"]),
  }),
);

function writeRoute(request: RouteRequest): readonly unknown[] {
  return [
    ...writeHead(request),
    request.timeoutMs,
    request.promptTokens,
    request.blockHashes,
    request.sequenceHashes,
    request.rules,
    request.work,
    request.traceparent,
  ];
}

function readRoute(fields: FieldReader): RouteRequest {
  return {
    ...readHead(fields),
    timeoutMs: fields.number(at),
    promptTokens: fields.count(at + 1),
    blockHashes: fields.bytes(at + 2),
    sequenceHashes: fields.bytes(at + 3),
    rules: fields.optional(at + 4, (reader, index) => reader.map<RoutingRules>(index)),
    work: fields.bytes(at + 5),
    traceparent: fields.optional(at + 6, (reader, index) => reader.string(index)),
  };
}
