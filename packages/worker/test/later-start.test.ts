import { Catalog } from "@baton/protocol";
import { catalog } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { workerCluster } from "./support/worker-cluster.ts";

describe("a worker of which a later start was listed and is lost", () => {
  const lost = (lostGeneration: number) => ({
    accepted: false,
    epoch: 1,
    conflicts: [],
    why: "a later start of this worker is lost",
    lostGeneration,
  });
  const accepted = { accepted: true, epoch: 1, conflicts: [], why: null };

  it("serves as a still later generation, at once", async () => {
    const cluster = workerCluster();
    const later = cluster.clock.nowMs() + 3_600_000;
    cluster.discovery.reply = lost(later);
    const worker = await cluster.startWorker({}, { awaitReady: false });
    await cluster.until(() => cluster.discovery.registrations.length > 0);
    cluster.discovery.reply = accepted;
    const askedAtMs = cluster.clock.nowMs();
    await cluster.until(() => worker.state === "ready");

    expect(cluster.clock.nowMs() - askedAtMs).toBeLessThan(1_000);
    expect(worker.heartbeat().generation).toBe(later + 1);
    expect(cluster.discovery.registrations.at(-1)?.generation).toBe(later + 1);
    const stream = cluster.frontend.generate(worker, "r1", { params: { maxTokens: 2 } });
    await cluster.until(() => cluster.frontend.endOf(stream) !== null);
    expect(cluster.frontend.frames.at(-1)?.generation).toBe(later + 1);
  });

  it("ends once what it still ran, and holds nothing of it", async () => {
    const cluster = workerCluster();
    const worker = await cluster.startWorker({
      "worker-type": "aggregated",
      "mock-decode-ms": 20,
    });
    const later = worker.generation + 7;
    const stream = cluster.frontend.generate(worker, "r1", { params: { maxTokens: 500 } });
    await cluster.until(() => cluster.frontend.tokensOf(stream).length > 2);

    cluster.discovery.reply = lost(later);
    const bytes = Catalog.encode(catalog([], { epoch: 1 }));
    cluster.discovery.bus.publish(cluster.subjects.catalogPublished(), bytes);
    await cluster.until(() => cluster.discovery.registrations.length === 2);
    cluster.discovery.reply = accepted;
    await cluster.until(() => worker.state === "ready" && worker.heartbeat().generation > later);

    expect(cluster.frontend.endOf(stream)).toMatchObject({
      reason: "error",
      error: { code: "worker_lost" },
    });
    expect(await cluster.metric(worker, "baton_worker_sequences")).toBe(0);
    expect(await cluster.metric(worker, "baton_worker_blocks_used")).toBe(0);
  });

  it("that is passed already is told the reason, and asks slowly", async () => {
    const cluster = workerCluster();
    cluster.discovery.reply = lost(1);
    const worker = await cluster.startWorker({}, { awaitReady: false });
    await cluster.clock.advanceBy(5_000);

    expect(worker.why).toBe("a later start of this worker is lost");
    expect(cluster.discovery.registrations).toHaveLength(1);
  });
});
