import { beforeEach, describe, expect, it } from "vitest";
import { expectNothingHeld } from "./support/nothing-held.ts";
import { type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

let cluster: WorkerCluster;
beforeEach(() => {
  cluster = workerCluster();
});

describe("the prefill side of a handoff", () => {
  it("gives back the decode constraints and what prefill found cached", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1", { promptLength: 50 });
    await cluster.until(() => frontend.prefilled.length === 1);
    frontend.prefill(first, "r2", { promptLength: 50 });
    await cluster.until(() => frontend.prefilled.length === 2);

    expect(frontend.prefilled[0]).toMatchObject({ cachedTokens: 0, promptTokens: 50 });
    expect(frontend.prefilled[1]).toMatchObject({ cachedTokens: 48, decodeConstraints: null });
    expect(frontend.ticketOf("r2")).toMatchObject({
      transport: "blocks",
      blocks: 3,
      bytes: 200,
      promptTokens: 50,
      cachedTokens: 48,
      prefillWorkerId: first.id,
    });
  });

  it("makes no ticket when the first token ends the generation", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const { frontend } = cluster;

    frontend.prefill(first, "r1", { params: { maxTokens: 1, n: 2, temperature: 1 } });
    await cluster.until(() => frontend.prefilled.length === 1);

    expect(frontend.prefilled[0]).toMatchObject({
      handoff: null,
      finishReasons: ["length", "length"],
    });
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="staged"')).toBe(0);
    await expectNothingHeld(cluster, first);
  });

  it("frees a KV that nobody fetches, and refuses its ticket afterwards", async () => {
    const first = await cluster.startWorker({
      "worker-type": "prefill",
      "handoff-lease-ms": 5_000,
    });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);
    await cluster.clock.advanceBy(5_100);
    await expectNothingHeld(cluster, first);

    frontend.decode(second, "r1", frontend.ticketOf("r1"));
    await cluster.until(() => frontend.failed.length === 1);

    expect(frontend.failed[0]).toMatchObject({
      leg: "decode",
      error: { code: "handoff_refused", details: { reason: "expired" } },
    });
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="expired"')).toBe(1);
    await expectNothingHeld(cluster, second);
  });

  it("says again what is staged while nobody fetches it, until its Frontend extends the lease", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);

    await cluster.clock.advanceBy(2_100);
    const said = frontend.prefilled.length;
    frontend.extend(first, frontend.ticketOf("r1"), "r1");
    await cluster.clock.advanceBy(3_000);

    expect(said).toBeGreaterThan(1);
    expect(frontend.prefilled).toHaveLength(said);
    expect(new Set(frontend.prefilled.map(({ stream }) => stream)).size).toBe(1);
  });

  it("says nothing again of what was fetched or given up", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1");
    frontend.prefill(first, "r2");
    await cluster.until(() => frontend.prefilled.length === 2);
    frontend.decode(second, "r1", frontend.ticketOf("r1"));
    frontend.abort(first, "r2");

    await cluster.clock.advanceBy(5_000);

    expect(frontend.prefilled).toHaveLength(2);
  });

  it("refuses to stage over the cap, and frees the KV", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill", "max-staged-bytes": 100 });
    const { frontend } = cluster;

    frontend.prefill(first, "r1", { promptLength: 40 });
    await cluster.until(() => frontend.failed.length === 1);

    expect(frontend.failed[0]).toMatchObject({ leg: "prefill", error: { code: "overloaded" } });
    await expectNothingHeld(cluster, first);
  });
});
