import { describe, expect, it } from "vitest";
import { routableWorker } from "../src/routable-worker.ts";
import { workerView } from "./support/fake-view.ts";

describe("a worker as routing sees it", () => {
  it("has the ranks, the room and the taints that it registered, its topology among them", () => {
    const worker = workerView("w-1", {
      workerType: "prefill",
      taints: ["gpu"],
      topology: { rack: "r1" },
      card: { blockSize: 16 },
      capacity: {
        totalBlocks: 900,
        maxSequences: 7,
        maxBatchedTokens: 512,
        dpStartRank: 2,
        dpSize: 2,
      },
    });

    expect(routableWorker(worker)).toEqual({
      id: "w-1",
      generation: worker.generation,
      workerType: "prefill",
      dpStartRank: 2,
      dpSize: 2,
      taints: new Set(["gpu", "baton.topology/rack=r1"]),
      draining: false,
      maxSequences: 7,
      maxBatchedTokens: 512,
      totalBlocks: 900,
      blockSize: 16,
    });
  });

  it("does not know the capacity that an engine tells as 0", () => {
    const capacity = { totalBlocks: 0, maxBatchedTokens: 0 };

    expect(routableWorker(workerView("w-1", { capacity }))).toMatchObject({
      totalBlocks: null,
      maxBatchedTokens: null,
    });
  });

  it.each(["draining", "lost"] as const)("takes nothing when it is %s", (state) => {
    expect(routableWorker(workerView("w-1", { state })).draining).toBe(true);
  });
});
