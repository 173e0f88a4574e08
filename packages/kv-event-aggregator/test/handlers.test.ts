import { KvSnapshot } from "@baton/protocol";
import { memoryCluster, PlayedDiscovery } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { kvEventAggregator } from "../src/actor.ts";
import { FakeWorker } from "./support/fake-cluster.ts";
import { model } from "./support/kv-world.ts";

async function setUp(maxSnapshots: number) {
  const cluster = memoryCluster();
  const discovery = new PlayedDiscovery(cluster);
  const config = {
    bufferedBatches: 8,
    recoveryAttempts: 2,
    recoveryBackoffMs: 100,
    recoveryTimeoutMs: 200,
    recoveryConcurrency: 2,
    lostHoldMs: 0,
    maxSources: 10,
    maxSnapshots,
  };
  cluster.start(kvEventAggregator, config, { id: "agg" });
  const worker = new FakeWorker(cluster, "w1");
  discovery.list([worker.entry()]);
  await cluster.clock.advanceBy(300);
  const consumer = cluster.bus("consumer");
  const ask = (name = model) =>
    consumer
      .request(cluster.subjects.getKvSnapshot(name), new Uint8Array(), { timeoutMs: 1_000 })
      .then(
        (bytes) => KvSnapshot.decode(bytes).dumps.length,
        (error: { readonly code: string }) => error.code,
      );
  return { cluster, worker, ask };
}

describe("getKvSnapshot", () => {
  it("gathers so many snapshots at once, and leaves the next asker to try again", async () => {
    const { cluster, worker, ask } = await setUp(1);
    worker.answers = false;

    const asked = [ask(), ask()];
    await cluster.clock.advanceBy(2_000);
    expect(await Promise.all(asked)).toEqual([0, "deadline_exceeded"]);
    worker.answers = true;
    const again = ask();
    await cluster.clock.advanceBy(100);

    expect(await again).toBe(1);
  });

  it("answers for a model that nobody serves with nothing", async () => {
    const { cluster, ask } = await setUp(4);

    const asked = ask("nobody" as typeof model);
    await cluster.clock.advanceBy(100);

    expect(await asked).toBe(0);
  });

  it("does not ask workers that are lost", async () => {
    const { cluster, worker, ask } = await setUp(4);
    worker.life.kill();
    await cluster.clock.advanceBy(1_500);

    const asked = ask();
    await cluster.clock.advanceBy(20);

    expect(await asked).toBe(0);
  });
});
