import { actorId, Generate } from "@baton/protocol";
import { expect, it } from "vitest";
import { commandFields } from "../src/command-fields.ts";
import { stagedRequest } from "./support/desk-rig.ts";

it("takes the worker's part of a request, for the generation and rank that were chosen", () => {
  const request = stagedRequest("r1", { stream: 9, traceparent: "00-1" });

  const command = commandFields(request, {
    kind: "selected",
    workerId: actorId("w-1"),
    generation: 5,
    dpRank: 2,
    overlapBlocks: 3,
    cachedTokens: 0,
    bestOverlapBlocks: 3,
  });

  expect(command).toEqual({
    requestId: "r1",
    frontendId: "f-1",
    frontendGeneration: 1,
    stream: 9,
    generation: 5,
    dpRank: 2,
    blockHashes: request.blockHashes,
    sequenceHashes: request.sequenceHashes,
    work: request.work,
    traceparent: "00-1",
  });
  expect(Generate.decode(Generate.encode(command))).toEqual(command);
});
