/** Hot path: once per request. */
import type { Generate, RoutePrefill } from "@baton/protocol";
import type { Chosen } from "./desk-policy.ts";

/** What every command for a worker has in common: the request's own fields, and the rank that was chosen. */
export function commandFields(request: RoutePrefill, chosen: Chosen): Generate {
  return {
    requestId: request.requestId,
    frontendId: request.frontendId,
    frontendGeneration: request.frontendGeneration,
    stream: request.stream,
    generation: chosen.generation,
    dpRank: chosen.dpRank,
    blockHashes: request.blockHashes,
    sequenceHashes: request.sequenceHashes,
    work: request.work,
    traceparent: request.traceparent,
  };
}
