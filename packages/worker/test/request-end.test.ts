import { requestId } from "@baton/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { expectNothingHeld } from "./support/nothing-held.ts";
import { type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

let cluster: WorkerCluster;
beforeEach(() => {
  cluster = workerCluster();
});

describe("an abort", () => {
  it("frees a request in prefill, staged KV, a pull under way and a generation", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill", "mock-prefill-ms": 20 });
    const second = await cluster.startWorker({ "worker-type": "decode", "mock-decode-ms": 20 });
    const { frontend } = cluster;
    frontend.prefill(first, "prefilling");
    await cluster.clock.advanceBy(10);
    frontend.abort(first, "prefilling");
    frontend.prefill(first, "staged");
    await cluster.until(() => frontend.prefilled.length === 1);
    frontend.abort(first, "staged");
    frontend.prefill(first, "decoding");
    await cluster.until(() => frontend.prefilled.length === 2);
    const stream = frontend.decode(second, "decoding", frontend.ticketOf("decoding"));
    await cluster.until(() => frontend.tokensOf(stream).length > 1);
    frontend.abort(second, "decoding");
    await cluster.clock.advanceBy(60);
    const told = frontend.frames.length;

    await expectNothingHeld(cluster, first, second);

    expect(frontend.frames).toHaveLength(told);
    expect(frontend.prefilled.map((fact) => fact.requestId)).toEqual(["staged", "decoding"]);
    expect(frontend.failed).toEqual([]);
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="released"')).toBe(1);
  });

  it("frees both ends while KV is on its way", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill", "transfer-gbps": 0.01 });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1", { promptLength: 200 });
    await cluster.until(() => frontend.prefilled.length === 1);
    frontend.decode(second, "r1", frontend.ticketOf("r1"), { promptLength: 200 });
    await cluster.clock.advanceBy(300);
    expect(await cluster.metric(first, "baton_worker_handoffs_held")).toBe(1);

    frontend.abort(second, "r1");
    await cluster.clock.advanceBy(300);

    await expectNothingHeld(cluster, first, second);
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="released"')).toBe(1);
    expect(frontend.failed).toEqual([]);
  });

  it("that overtakes its dispatch keeps the request out, for some seconds", async () => {
    const worker = await cluster.startWorker({ "worker-type": "prefill" });
    const { frontend } = cluster;
    frontend.abort(null, "r1");
    await cluster.clock.advanceBy(1_000);
    frontend.prefill(worker, "r1");
    await cluster.clock.advanceBy(1_000);

    expect(frontend.prefilled).toEqual([]);
    expect(await cluster.metric(worker, "baton_worker_prefills_started_total")).toBe(0);
    expect(cluster.loads.some((load) => load.endedBookings.includes(requestId("r1")))).toBe(true);

    await cluster.clock.advanceBy(5_000);
    frontend.prefill(worker, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);
  });

  it("by release frees staged KV, and a release that comes first keeps the request out", async () => {
    const worker = await cluster.startWorker({ "worker-type": "prefill" });
    const { frontend } = cluster;
    frontend.prefill(worker, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);
    const ticket = frontend.ticketOf("r1");

    frontend.release(worker, ticket, "r1");
    frontend.release(worker, ticket, "r2");
    frontend.prefill(worker, "r2");
    await cluster.clock.advanceBy(500);

    expect(frontend.prefilled).toHaveLength(1);
    await expectNothingHeld(cluster, worker);
  });
});
