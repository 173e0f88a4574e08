import { beforeEach, describe, expect, it } from "vitest";
import { FakeFrontend, type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

let cluster: WorkerCluster;
beforeEach(() => {
  cluster = workerCluster();
});

describe("a lost Frontend", () => {
  const hold = async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode", "mock-decode-ms": 100 });
    const gone = new FakeFrontend(cluster, "fe-gone");
    gone.prefill(first, "staged");
    gone.generate(second, "running", { params: { maxTokens: 1_000 } });
    cluster.frontend.prefill(first, "other");
    await cluster.until(() => gone.prefilled.length === 1 && gone.frames.length > 0);
    const held = async () =>
      (await cluster.metric(first, "baton_worker_sequences")) +
      (await cluster.metric(second, "baton_worker_sequences"));
    expect(await held()).toBe(3);
    return { gone, held };
  };

  it.each([
    ["falls silent", 1, null],
    ["says goodbye", 1, "stopped"],
    ["comes back as another", 2, "ready"],
  ] as const)(
    "that %s has its work aborted within two seconds",
    async (_what, generation, beat) => {
      const { gone, held } = await hold();
      gone.isBeating = false;
      Object.assign(gone, { generation });
      if (beat !== null) gone.beat(beat);

      await cluster.clock.advanceBy(2_000);

      expect(await held()).toBe(1);
    },
  );

  it("that was only away for a while is told what was aborted, each once", async () => {
    const { gone } = await hold();
    const prefiller = await cluster.startWorker({
      "worker-type": "prefill",
      "mock-prefill-ms": 5_000,
    });
    gone.prefill(prefiller, "running-too");
    await cluster.clock.advanceBy(300);
    gone.isBeating = false;
    gone.beat("stopped");

    await cluster.clock.advanceBy(2_000);

    const ends = gone.frames.flatMap(({ entries }) => entries).flatMap(({ end }) => end ?? []);
    expect(ends).toEqual([
      {
        reason: "error",
        cachedTokens: 0,
        error: expect.objectContaining({ code: "bus_unavailable" }),
      },
    ]);
    expect(gone.failed.map(({ error }) => error.code)).toEqual(["bus_unavailable"]);
  });

  it("is sent no more for: what a router dispatched before it knew is aborted within a second", async () => {
    const gone = new FakeFrontend(cluster, "fe-gone");
    const worker = await cluster.startWorker({ "worker-type": "decode", "mock-decode-ms": 100 });
    await cluster.clock.advanceBy(300);
    gone.beat("stopped");
    gone.isBeating = false;
    await cluster.clock.advanceBy(100);

    gone.generate(worker, "late", { params: { maxTokens: 1_000 } });
    await cluster.clock.advanceBy(300);
    const soon = await cluster.metric(worker, "baton_worker_sequences");
    await cluster.clock.advanceBy(700);

    expect(soon).toBe(1);
    expect(await cluster.metric(worker, "baton_worker_sequences")).toBe(0);
  });

  it("that falls silent and is back before its next request keeps it", async () => {
    const back = new FakeFrontend(cluster, "fe-back");
    const worker = await cluster.startWorker({ "worker-type": "decode", "mock-decode-ms": 100 });
    await cluster.clock.advanceBy(300);
    back.isBeating = false;
    await cluster.clock.advanceBy(2_000);

    back.generate(worker, "kept", { params: { maxTokens: 1_000 } });
    await cluster.clock.advanceBy(300);
    back.isBeating = true;
    await cluster.clock.advanceBy(2_000);

    expect(await cluster.metric(worker, "baton_worker_sequences")).toBe(1);
  });

  it("that was never heard has its work aborted when a later life of it is", async () => {
    const gone = new FakeFrontend(cluster, "fe-gone");
    gone.isBeating = false;
    const worker = await cluster.startWorker({ "worker-type": "prefill" });
    gone.prefill(worker, "staged");
    await cluster.until(() => gone.prefilled.length === 1);
    expect(await cluster.metric(worker, "baton_worker_handoffs_held")).toBe(1);

    Object.assign(gone, { generation: 2 });
    gone.beat("ready");
    await cluster.clock.advanceBy(20);

    expect(await cluster.metric(worker, "baton_worker_handoffs_held")).toBe(0);
  });
});
