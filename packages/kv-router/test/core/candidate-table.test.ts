import { describe, expect, it } from "vitest";
import { CandidateTable } from "../../src/core/candidate-table.ts";
import { LoadSlots } from "../../src/core/load-slots.ts";
import { PromptOverlaps } from "../../src/core/prompt-overlaps.ts";
import {
  createActiveLoad,
  createRadixTree,
  defaultLoadTracking,
  noBusyThresholds,
  RankSlots,
  type RoutableWorker,
  type WorkerLoad,
} from "../../src/index.ts";
import { booking, worker } from "../support.ts";
import { hashesOf, routableWorker } from "./core-support.ts";

function tableOf(...workers: RoutableWorker[]) {
  const load = createActiveLoad(defaultLoadTracking);
  const loadSlots = new LoadSlots();
  const indexSlots = new RankSlots();
  const index = createRadixTree();
  const overlaps = new PromptOverlaps(index, null);
  const table = new CandidateTable({ load, loadSlots, indexSlots });
  table.setWorkers(workers);
  const fill = (text = "") => {
    overlaps.look(hashesOf(text), 0);
    const list = table.listOf("aggregated");
    if (list !== undefined) table.fill(list, 0, load.findActive(hashesOf(text)), overlaps);
    return list?.candidates ?? [];
  };
  const book = (name: string, dpRank: number, blocks: number, prefillTokens = 0) => {
    load.add({
      bookingId: booking(name),
      rank: loadSlots.book(worker("w1"), 1, dpRank),
      sequenceHashes: new Uint8Array(),
      blocks,
      prefillTokens,
      prefillMs: null,
      promptTokens: 0,
      blockSize: 10,
      expectedOutputTokens: null,
      atMs: 0,
    });
    table.recount(worker("w1"));
  };
  return { table, loadSlots, indexSlots, index, fill, book };
}

const report = (facts: Partial<WorkerLoad> = {}): WorkerLoad => ({
  workerId: worker("w1"),
  generation: 1,
  accepting: true,
  activeBlocks: null,
  totalBlocks: null,
  ...facts,
});

describe("candidates", () => {
  it("are the ranks of the workers of a type, as the workers are", () => {
    const taints = new Set(["gpu"]);
    const { table } = tableOf(
      routableWorker("w1", { dpStartRank: 2, dpSize: 2, taints, draining: true, maxSequences: 4 }),
      routableWorker("w2", { workerType: "prefill" }),
    );

    expect(table.listOf("decode")).toBeUndefined();
    expect(table.listOf("prefill")?.candidates).toHaveLength(1);
    expect(table.listOf("aggregated")?.candidates).toEqual(
      [2, 3].map((dpRank) => ({
        workerId: "w1",
        generation: 1,
        dpRank,
        taints,
        draining: true,
        refusesUntilMs: 0,
        requestsInFlight: 0,
        workerRequestsInFlight: 0,
        maxRequestsInFlight: 4,
        activeBlocks: null,
        totalBlocks: 100,
        overlapBlocks: 0,
        hostOverlapBlocks: 0,
        diskOverlapBlocks: 0,
        bookedBlocks: 0,
        bookedOverlapBlocks: 0,
        activePrefillTokens: 0,
        maxBatchedTokens: 1_000,
        overloaded: false,
      })),
    );
  });

  it("follow a worker's reports, but not those of another generation", () => {
    const { table, fill } = tableOf(routableWorker("w1"));

    table.report(report({ activeBlocks: 7, accepting: false }));
    table.report(report({ workerId: worker("w9") }));
    table.report(report({ generation: 2, activeBlocks: 50 }));
    expect(fill()).toMatchObject([{ activeBlocks: 7, totalBlocks: 100, draining: true }]);

    table.report(report({ activeBlocks: 8, totalBlocks: 20 }));
    expect(fill()).toMatchObject([{ activeBlocks: 8, totalBlocks: 20, draining: false }]);
  });

  it("keep a refusal until it is forgotten or over", () => {
    const { table, fill } = tableOf(routableWorker("w1"));
    const refusal = () => fill()[0]?.refusesUntilMs;
    table.refuse(worker("w1"), 500);
    table.setWorkers([routableWorker("w1"), routableWorker("w2")]);
    expect(refusal()).toBe(500);

    table.forgetOldRefusals(499);
    table.forgetRefusal(worker("w1"));
    expect(refusal()).toBe(0);

    table.refuse(worker("w1"), 500);
    table.forgetOldRefusals(500);
    table.setWorkers([routableWorker("w1")]);
    expect(refusal()).toBe(0);
  });
});

describe("other workers", () => {
  it("leave those that stay their bookings, their report and their place in memory", () => {
    const { table, fill, book } = tableOf(routableWorker("w1"), routableWorker("w2"));
    book("a", 0, 5);
    table.report(report({ activeBlocks: 7 }));
    const before = fill()[0];

    const closed = table.setWorkers([
      routableWorker("w3"),
      routableWorker("w1", { draining: true, maxSequences: 2 }),
    ]);

    expect(closed).toHaveLength(1);
    expect(fill()[1]).toBe(before);
    expect(before).toMatchObject({
      bookedBlocks: 5,
      requestsInFlight: 1,
      activeBlocks: 7,
      draining: true,
      maxRequestsInFlight: 2,
    });
  });

  it("start afresh in a new generation, whose bookings are its own", () => {
    const { table, fill, book, loadSlots } = tableOf(routableWorker("w1"));
    book("a", 0, 5);
    table.report(report({ activeBlocks: 7 }));

    expect(table.setWorkers([routableWorker("w1", { generation: 2 })])).toEqual([]);
    expect(fill()).toMatchObject([
      { generation: 2, bookedBlocks: 0, workerRequestsInFlight: 0, activeBlocks: null },
    ]);
    expect(loadSlots.release(worker("w1"), 1)).toHaveLength(1);
  });

  it("may have more ranks than before", () => {
    const { table, fill, book } = tableOf(routableWorker("w1"));
    book("a", 0, 5);

    expect(table.setWorkers([routableWorker("w1", { dpSize: 2 })])).toEqual([]);
    expect(fill()).toMatchObject([
      { dpRank: 0, bookedBlocks: 5 },
      { dpRank: 1, bookedBlocks: 0, workerRequestsInFlight: 1 },
    ]);
  });
});

describe("overlaps", () => {
  it("are those of the rank's slot in the index, whenever it is opened or closed", () => {
    const { indexSlots, index, fill } = tableOf(routableWorker("w1"), routableWorker("w2"));
    expect(fill("abc")).toMatchObject([{ overlapBlocks: 0 }, { overlapBlocks: 0 }]);

    const rank = { workerId: worker("w2"), generation: 1, dpRank: 0 };
    index.store(indexSlots.open(rank), "device", null, hashesOf("ab"));
    expect(fill("abc")).toMatchObject([{ overlapBlocks: 0 }, { overlapBlocks: 2 }]);

    indexSlots.close(rank);
    expect(fill("abc")).toMatchObject([{ overlapBlocks: 0 }, { overlapBlocks: 0 }]);
  });

  it("of another generation do not count", () => {
    const { indexSlots, index, fill } = tableOf(routableWorker("w1", { generation: 2 }));
    const old = { workerId: worker("w1"), generation: 1, dpRank: 0 };
    index.store(indexSlots.open(old), "device", null, hashesOf("ab"));

    expect(fill("abc")).toMatchObject([{ overlapBlocks: 0 }]);
  });
});

describe("busy thresholds", () => {
  const overloaded = (candidates: readonly { overloaded: boolean }[]) =>
    candidates.map((candidate) => candidate.overloaded);

  it("overload a worker of which every rank is over, by bookings or by its own word", () => {
    const { table, fill, book } = tableOf(routableWorker("w1", { dpSize: 2 }));
    table.setThresholds({ ...noBusyThresholds, activeDecodeBlocksThreshold: 0.5 });
    book("a", 0, 26);
    expect(overloaded(fill())).toEqual([false, false]);
    book("b", 1, 26);
    expect(overloaded(fill())).toEqual([true, true]);

    table.setThresholds({ ...noBusyThresholds, activeDecodeBlocksThreshold: 0.6 });
    expect(overloaded(fill())).toEqual([false, false]);
    table.report(report({ activeBlocks: 61 }));
    expect(overloaded(fill())).toEqual([true, true]);
    table.report(report({ activeBlocks: 60 }));
    expect(overloaded(fill())).toEqual([false, false]);
  });

  it("overload by prompt tokens that wait, as many or as a share of a pass", () => {
    const { table, fill, book } = tableOf(routableWorker("w1"));
    book("a", 0, 1, 501);
    table.setThresholds({ ...noBusyThresholds, activePrefillTokensThreshold: 500 });
    expect(overloaded(fill())).toEqual([true]);
    table.setThresholds({ ...noBusyThresholds, activePrefillTokensThresholdFrac: 0.5 });
    expect(overloaded(fill())).toEqual([true]);
    table.setThresholds({ ...noBusyThresholds, activePrefillTokensThresholdFrac: 0.6 });
    expect(overloaded(fill())).toEqual([false]);
  });

  it("overload nobody any more when they are taken away", () => {
    const { table, fill, book } = tableOf(routableWorker("w1"));
    table.setThresholds({ ...noBusyThresholds, activePrefillTokensThreshold: 0 });
    book("a", 0, 1, 1);
    expect(overloaded(fill())).toEqual([true]);

    table.setThresholds(noBusyThresholds);

    expect(overloaded(fill())).toEqual([false]);
  });
});
