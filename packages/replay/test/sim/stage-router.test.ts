import { SeededRandom } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { createStageCore } from "../../src/sim/create-stage-core.ts";
import { replayGeneration } from "../../src/sim/replay-generation.ts";
import type { ReplayRequest } from "../../src/sim/replay-request.ts";
import { type Stage, StageRouter } from "../../src/sim/stage-router.ts";
import { VirtualTime } from "../../src/sim/virtual-time.ts";
import { requestOf, workerOf } from "../support/builders.ts";

/** A router of two workers that take `maxSequences` requests each. */
function routerOf(facts: { stage?: Stage; policy?: "kv" | "round-robin"; maxSequences?: number }) {
  const { stage = "aggregated", policy = "round-robin", maxSequences = 1 } = facts;
  const time = new VirtualTime();
  const workers = [0, 1].map((index) => workerOf(time, { index, type: stage }));
  const core = createStageCore(stage, { policy, parameters: {} });
  core.setWorkers(
    workers.map(({ id }) => ({
      id,
      generation: replayGeneration,
      workerType: stage,
      dpStartRank: 0,
      dpSize: 1,
      taints: new Set<string>(),
      draining: false,
      maxSequences,
      maxBatchedTokens: null,
      totalBlocks: 64,
      blockSize: 512,
    })),
  );
  const sent: [number, number][] = [];
  const router = new StageRouter(
    { stage, blockSize: 512 },
    {
      core,
      workers,
      time,
      random: new SeededRandom(1),
      activeBlocksOf: () => 0,
      dispatch: (request: ReplayRequest, worker) => sent.push([request.index, worker.index]),
    },
  );
  return { core, router, sent };
}

describe("a router of a stage", () => {
  it("lets wait what finds no room, first come, first served", () => {
    const { core, router, sent } = routerOf({});
    const requests = [0, 1, 2, 3].map((index) => requestOf(index));

    for (const request of requests) router.place(request);
    expect(sent).toEqual([
      [0, 0],
      [1, 1],
    ]);
    router.release(requests[1]!);
    router.release(requests[0]!);

    expect(sent.slice(2)).toEqual([
      [2, 1],
      [3, 0],
    ]);
    expect(router.mostWaiting).toBe(2);
    expect(core.booked).toBe(2);
  });

  it("does not let a later request pass one that waits", () => {
    const { router, sent } = routerOf({});
    const requests = [0, 1, 2].map((index) => requestOf(index));
    for (const request of requests) router.place(request);

    router.release(requests[0]!);
    router.place(requestOf(9));

    expect(sent.map(([index]) => index)).toEqual([0, 1, 2]);
  });

  it("books what is to be computed, until it is", () => {
    const { core, router } = routerOf({ policy: "kv", maxSequences: 8 });
    const request = requestOf(0, [1, 2]);
    const tokens = () => {
      core.choose(coreRequest, 0);
      return core.candidates("aggregated").map(({ activePrefillTokens }) => activePrefillTokens);
    };
    const coreRequest = {
      nowMs: 0,
      workerType: "aggregated",
      stage: "aggregated",
      promptTokens: 1_024,
      blockSize: 512,
      promptBlocks: 2,
      sequenceHashes: request.sequenceHashes,
    } as const;

    router.place(request);
    expect(tokens().toSorted()).toEqual([0, 1_024]);
    router.prefillCompleted(request);
    expect(tokens()).toEqual([0, 0]);
    expect(
      core
        .candidates("aggregated")
        .map((one) => one.bookedBlocks)
        .toSorted(),
    ).toEqual([0, 2]);
  });

  it("counts a decode leg's blocks one by one, and nothing to compute", () => {
    const { core, router } = routerOf({ stage: "decode", policy: "kv", maxSequences: 8 });
    const [first, second] = [requestOf(0, [1, 2]), requestOf(1, [1, 2])];

    for (const request of [first, second, requestOf(2, [1, 2])]) router.place(request);

    core.choose(
      {
        nowMs: 0,
        workerType: "decode",
        stage: "decode",
        promptTokens: 512,
        blockSize: 512,
        promptBlocks: 1,
        sequenceHashes: new Uint8Array(8),
      },
      0,
    );
    const candidates = core.candidates("decode");
    expect(candidates.map(({ bookedBlocks }) => bookedBlocks).toSorted()).toEqual([2, 4]);
    expect(candidates.map(({ activePrefillTokens }) => activePrefillTokens)).toEqual([0, 0]);
  });
});
