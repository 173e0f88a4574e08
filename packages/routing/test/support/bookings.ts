import { actorId, type Booking, type RequestId } from "@baton/protocol";
import { routeDecode, testGeneration } from "@baton/testing";

/** The ids of requests. */
export const ids = (...names: readonly string[]): readonly RequestId[] =>
  names.map((name) => routeDecode(name).requestId);

/** A booking of request `r9` by the router `d-2`, unless changed. */
export function bookingOn(id: string, changes: Partial<Booking> = {}): Booking {
  return {
    bookingId: routeDecode("r9").requestId,
    routerId: actorId("d-2"),
    frontendId: actorId("f-1"),
    workerId: actorId(id),
    generation: testGeneration,
    dpRank: 0,
    blocks: 2,
    promptTokens: 128,
    overlapBlocks: 0,
    prefillTokens: 0,
    sequenceHashes: new Uint8Array(),
    expectedOutputTokens: null,
    frontendGeneration: 1,
    ...changes,
  };
}
