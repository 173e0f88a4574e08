import { createBookings } from "@baton/kv-router";
import { actorId, requestId } from "@baton/protocol";
import { loadReport, testGeneration } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { CandidateTable } from "../src/candidate-table.ts";
import { workerView } from "./support/fake-view.ts";

function tableOf(...workers: ReturnType<typeof workerView>[]) {
  const bookings = createBookings({ limit: 10, graceMs: 0 });
  const table = new CandidateTable(bookings);
  table.rebuild(workers);
  const book = (id: string, worker: string, dpRank: number) => {
    const workerId = actorId(worker);
    const rank = { workerId, generation: testGeneration, dpRank };
    const size = { blocks: 1, promptTokens: 1, atMs: 0 };
    const who = { bookingId: requestId(id), frontendId: null, frontendGeneration: 0 };
    bookings.book({ ...who, ...rank, ...size });
    table.recount(workerId);
  };
  return { bookings, table, book };
}

describe("candidates", () => {
  it("are the ranks of the workers of a type that are not lost", () => {
    const { table } = tableOf(
      workerView("w-1", { capacity: { dpStartRank: 2, dpSize: 2 } }),
      workerView("w-2", { state: "lost" }),
      workerView("w-3", { workerType: "prefill" }),
    );

    const ranks = (type: "decode" | "prefill" | "aggregated") =>
      table.of(type).map(({ workerId, dpRank }) => `${workerId}/${dpRank}`);

    expect(ranks("decode")).toEqual(["w-1/2", "w-1/3"]);
    expect(ranks("prefill")).toEqual(["w-3/0"]);
    expect(ranks("aggregated")).toEqual([]);
  });

  it("carry what the registration says, topology among the taints", () => {
    const { table } = tableOf(
      workerView("w-1", {
        taints: ["gpu"],
        topology: { rack: "r1" },
        capacity: { maxSequences: 4 },
      }),
    );

    expect(table.of("decode")).toEqual([
      {
        workerId: "w-1",
        generation: testGeneration,
        dpRank: 0,
        taints: new Set(["gpu", "baton.topology/rack=r1"]),
        draining: false,
        refusesUntilMs: 0,
        requestsInFlight: 0,
        workerRequestsInFlight: 0,
        maxRequestsInFlight: 4,
        activeBlocks: null,
        totalBlocks: 16_384,
        overlapBlocks: 0,
        hostOverlapBlocks: 0,
        diskOverlapBlocks: 0,
        bookedBlocks: 0,
        bookedOverlapBlocks: 0,
        activePrefillTokens: 0,
        maxBatchedTokens: expect.any(Number),
        overloaded: false,
      },
    ]);
  });

  it("count bookings by rank and by worker, also after a rebuild", () => {
    const worker = workerView("w-1", { capacity: { dpSize: 2 } });
    const { table, book } = tableOf(worker);
    book("r1", "w-1", 0);
    book("r2", "w-1", 1);
    book("r3", "w-1", 1);
    const counts = () =>
      table.of("decode").map((rank) => [rank.requestsInFlight, rank.workerRequestsInFlight]);
    const before = counts();

    table.rebuild([worker]);

    expect([before, counts()]).toEqual([
      [
        [1, 3],
        [2, 3],
      ],
      [
        [1, 3],
        [2, 3],
      ],
    ]);
  });

  it("follow a worker's reports: blocks, and whether it takes work", () => {
    const { table } = tableOf(workerView("w-1"));

    table.report(loadReport("w-1", { activeBlocks: 7, totalBlocks: null, accepting: false }));
    table.report(loadReport("w-9"));
    expect(table.of("decode")).toMatchObject([
      { activeBlocks: 7, totalBlocks: 16_384, draining: true },
    ]);

    table.report(loadReport("w-1", { activeBlocks: 8, totalBlocks: 20 }));
    expect(table.of("decode")).toMatchObject([
      { activeBlocks: 8, totalBlocks: 20, draining: false },
    ]);
  });

  it("keep a refusal over a rebuild, until it is forgotten or over", () => {
    const worker = workerView("w-1");
    const { table } = tableOf(worker);
    const refusal = () => table.of("decode")[0]?.refusesUntilMs;
    table.refuse(worker.id, 500);
    table.rebuild([worker]);
    expect(refusal()).toBe(500);

    table.forgetOldRefusals(499);
    table.forgetRefusal(worker.id);
    expect(refusal()).toBe(0);

    table.refuse(worker.id, 500);
    table.forgetOldRefusals(500);
    table.rebuild([worker]);
    expect(refusal()).toBe(0);
  });
});
