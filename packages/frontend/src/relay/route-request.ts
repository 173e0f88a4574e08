/** Hot path: at most twice a request. Budget 15 µs. */
import { decodeOverrides, mergeConstraints } from "@baton/kv-router";
import {
  type RequestHead,
  RouteDecode,
  RoutePrefill,
  type RoutingConstraints,
  type RoutingRules,
  ServingError,
} from "@baton/protocol";
import type { PreparedRequest } from "../prepare/prepare-request.ts";
import type { RelayedRequest } from "./relayed-request.ts";

/** The bytes that ask for a prefill worker. `timeoutMs`: how long the router may hold the request. */
export function encodeRoutePrefill(
  request: RelayedRequest,
  head: RequestHead,
  timeoutMs: number,
): Uint8Array {
  return RoutePrefill.encode({
    ...common(request, head, timeoutMs),
    rules: request.request.routing?.rules ?? null,
  });
}

/** The bytes that ask for a decode worker, or for one that does both halves. */
export function encodeRouteDecode(
  request: RelayedRequest,
  head: RequestHead,
  timeoutMs: number,
): Uint8Array {
  const handoff = request.prefillDone?.handoff ?? null;
  return RouteDecode.encode({
    ...common(request, head, timeoutMs),
    rules: decodeRules(
      request.request.routing?.rules ?? null,
      request.prefillDone?.decodeConstraints ?? null,
    ),
    handoff,
    overrides: handoff === null ? null : decodeOverrides(),
    pool: request.mode === "aggregated" ? "aggregated" : "decode",
  });
}

/** The key under which a routing request comes back that nobody listened for. */
export function bounceKeyOf(leg: "prefill" | "decode", stream: number): string {
  return `${leg}-${stream}`;
}

/** Reads a bounce key; null if it is none of ours. */
export function readBounceKey(
  key: string,
): { readonly leg: "prefill" | "decode"; readonly stream: number } | null {
  const match = /^(prefill|decode)-(\d{1,10})$/.exec(key);
  if (match === null) return null;
  return { leg: match[1] === "prefill" ? "prefill" : "decode", stream: Number(match[2]) };
}

/** What a request says, with what its prefill worker's topology asks of the decode worker on top. */
export function decodeRules(
  own: RoutingRules | null,
  derived: RoutingConstraints | null,
): RoutingRules | null {
  if (derived === null) return own;
  return { ...own, constraints: mergeConstraints(own?.constraints, derived) };
}

function common(request: RelayedRequest, head: RequestHead, timeoutMs: number) {
  const { promptTokens, blockHashes, sequenceHashes, work } = preparedOf(request);
  return {
    ...head,
    timeoutMs,
    promptTokens,
    blockHashes,
    sequenceHashes,
    work,
    traceparent: request.request.traceparent,
  };
}

function preparedOf({ prepared }: RelayedRequest): PreparedRequest {
  if (prepared !== null) return prepared;
  throw new ServingError("internal", { problem: "a request is routed before it is prepared" });
}
