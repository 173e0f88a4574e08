import { unpackKvEvents } from "@baton/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { crashableEngine } from "./support/crashable-engine.ts";
import { type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

let cluster: WorkerCluster;
beforeEach(() => {
  cluster = workerCluster();
});

describe("a lost engine", () => {
  it("fails everything at once, drops what was held, and comes back as a new generation", async () => {
    const engine = crashableEngine();
    const worker = await cluster.startWorker(
      { "worker-type": "prefill", "mock-prefill-ms": 50 },
      { engine: engine.factory },
    );
    const { frontend } = cluster;
    const before = worker.heartbeat().generation;
    frontend.prefill(worker, "staged", { promptLength: 64 });
    await cluster.until(() => frontend.prefilled.length === 1);
    frontend.prefill(worker, "running");
    await cluster.clock.advanceBy(20);

    engine.crash();
    await cluster.clock.advanceBy(1);

    expect(frontend.failed).toMatchObject([
      { requestId: "running", leg: "prefill", error: { code: "engine_lost" } },
    ]);
    expect(await cluster.metric(worker, "baton_worker_handoffs_held")).toBe(0);
    expect(worker.heartbeat().generation).toBe(before + 1);
    const cleared = cluster.kvEvents.at(-1);
    expect(cleared?.generation).toBe(before);
    expect(unpackKvEvents(cleared?.events ?? new Uint8Array())).toEqual([{ kind: "cleared" }]);
    await cluster.clock.advanceBy(20);
    expect(cluster.loads.at(-1)).toMatchObject({ accepting: false, generation: before + 1 });
    expect(worker.state).not.toBe("ready");

    frontend.prefill(worker, "early");
    await cluster.clock.advanceBy(20);
    expect(frontend.failed.at(-1)).toMatchObject({
      requestId: "early",
      error: { code: "engine_lost" },
    });

    await engine.restore();
    await cluster.until(() => worker.state === "ready");
    expect(cluster.discovery.registrations.at(-1)?.generation).toBe(before + 1);
    frontend.prefill(worker, "after");
    await cluster.until(() => frontend.prefilled.length === 2);
    expect(frontend.prefilled[1]).toMatchObject({ generation: before + 1, cachedTokens: 0 });
  });

  it("ends a stream with an error mark, not with a failed leg", async () => {
    const engine = crashableEngine();
    const worker = await cluster.startWorker(
      { "worker-type": "aggregated", "mock-decode-ms": 20 },
      { engine: engine.factory },
    );
    const stream = cluster.frontend.generate(worker, "r1", { params: { maxTokens: 100 } });
    await cluster.until(() => cluster.frontend.tokensOf(stream).length === 3);

    engine.crash();
    await cluster.clock.advanceBy(1);

    expect(cluster.frontend.endOf(stream)).toMatchObject({
      reason: "error",
      error: { code: "engine_lost" },
    });
    expect(cluster.frontend.entriesOf(stream).at(-1)?.offset).toBe(3);
    expect(cluster.frontend.failed).toEqual([]);
  });

  it("numbers frames and KV batches anew", async () => {
    const engine = crashableEngine();
    const worker = await cluster.startWorker(
      { "worker-type": "aggregated" },
      { engine: engine.factory },
    );
    const run = async (name: string) => {
      const stream = cluster.frontend.generate(worker, name, { promptLength: 40 });
      await cluster.until(() => cluster.frontend.endOf(stream) !== null);
    };
    await run("r1");
    engine.crash();
    await engine.restore();
    await cluster.until(() => worker.state === "ready");
    await run("r2");

    const generation = worker.heartbeat().generation;
    const frames = cluster.frontend.frames.filter((frame) => frame.generation === generation);
    expect(frames[0]?.sequence).toBe(0);
    const batches = cluster.kvEvents.filter((batch) => batch.generation === generation);
    expect(batches[0]?.sequence).toBe(1);
  });
});
