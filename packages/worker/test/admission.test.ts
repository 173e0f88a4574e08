import { requestId } from "@baton/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { expectNothingHeld } from "./support/nothing-held.ts";
import { type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

let cluster: WorkerCluster;
beforeEach(() => {
  cluster = workerCluster();
});

describe("work that is refused", () => {
  it.each([
    ["for an earlier generation", { generation: 5 }, "worker_lost"],
    ["for a rank that it has not", { dpRank: 3 }, "unknown_worker"],
    ["over the context", { promptLength: 2_000 }, "context_length_exceeded"],
    ["without a prompt", { tokens: new Uint32Array(0) }, "invalid_request"],
    ["that asks for what the engine cannot", { lora: "adapter" }, "unsupported"],
    ["that cannot be read", { work: Uint8Array.of(0xc1) }, "malformed_message"],
  ])("%s fails once, and its booking ends", async (_what, options, code) => {
    const worker = await cluster.startWorker({ "worker-type": "prefill" });

    cluster.frontend.prefill(worker, "r1", options);
    await cluster.clock.advanceBy(300);

    expect(cluster.frontend.failed).toHaveLength(1);
    expect(cluster.frontend.failed[0]).toMatchObject({
      requestId: "r1",
      leg: "prefill",
      actorId: worker.id,
      error: { code },
    });
    expect(cluster.loads.some((load) => load.endedBookings.includes(requestId("r1")))).toBe(true);
    expect(await cluster.metric(worker, "baton_worker_prefills_started_total")).toBe(0);
    await expectNothingHeld(cluster, worker);
  });

  it.each(["prefill", "generate"] as const)(
    "for a later start of the same worker is that one's, who hears it too: %s",
    async (command) => {
      const worker = await cluster.startWorker({ "worker-type": "aggregated" });

      cluster.frontend[command](worker, "r1", { generation: Number.MAX_SAFE_INTEGER });
      await cluster.clock.advanceBy(300);

      expect(cluster.frontend.failed).toEqual([]);
      expect(cluster.loads.flatMap((load) => load.endedBookings)).toEqual([]);
      await expectNothingHeld(cluster, worker);
    },
  );

  it("over its bound fails as overloaded", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated", "max-requests": 2 });
    for (const name of ["a", "b", "c"]) cluster.frontend.generate(worker, name);
    await cluster.clock.advanceBy(300);

    expect(cluster.frontend.failed.map((fact) => [fact.requestId, fact.error.code])).toEqual([
      ["c", "overloaded"],
    ]);
    expect(cluster.loads.flatMap((load) => load.refusedBookings)).toEqual(["c"]);
    expect(cluster.loads.flatMap((load) => load.endedBookings)).toContain("c");
  });

  it("a second time is dropped, and the first goes on", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });
    const stream = cluster.frontend.generate(worker, "r1");
    cluster.frontend.generate(worker, "r1");
    await cluster.until(() => cluster.frontend.endOf(stream) !== null);

    expect(cluster.frontend.failed).toEqual([]);
    expect(await cluster.metric(worker, "baton_worker_decodes_started_total")).toBe(1);
  });

  it("with a handoff that cannot be read fails once", async () => {
    const worker = await cluster.startWorker({ "worker-type": "decode" });

    cluster.frontend.decode(worker, "r1", Uint8Array.of(0xc1));
    await cluster.until(() => cluster.frontend.failed.length === 1);

    expect(cluster.frontend.failed[0]?.error.code).toBe("malformed_message");
    await expectNothingHeld(cluster, worker);
  });
});
