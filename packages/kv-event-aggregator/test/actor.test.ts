import { memoryCluster, PlayedDiscovery } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { kvEventAggregator } from "../src/actor.ts";
import type { KvEventAggregatorConfig } from "../src/config.ts";
import { FakeWorker, followFeed } from "./support/fake-cluster.ts";
import { model } from "./support/kv-world.ts";

const config: KvEventAggregatorConfig = {
  bufferedBatches: 1_024,
  recoveryAttempts: 8,
  recoveryBackoffMs: 200,
  recoveryTimeoutMs: 1_000,
  recoveryConcurrency: 16,
  lostHoldMs: 5_000,
  maxSources: 1_000,
  maxHistoryAsks: 100,
  dumpKeepMs: 2_000,
  dumpCacheBytes: 1_000_000,
};

async function started(options: { readonly config?: Partial<KvEventAggregatorConfig> } = {}) {
  const cluster = memoryCluster();
  const feed = followFeed(cluster);
  const discovery = new PlayedDiscovery(cluster);
  const running = cluster.start(kvEventAggregator, { ...config, ...options.config }, { id: "agg" });
  const worker = new FakeWorker(cluster, "w1");
  discovery.list([worker.entry()]);
  await cluster.clock.advanceBy(300);
  worker.asks.length = 0; // the router has asked once what there is
  return { cluster, feed, discovery, running, worker };
}

describe("kv-event-aggregator", () => {
  it("is ready when it knows the catalog, and relays batches in order on one feed", async () => {
    const { cluster, feed, running, worker } = await started();
    expect(running.state).toBe("ready");

    for (const block of [1, 2, 3]) worker.store(block);
    await cluster.clock.advanceBy(20);

    expect(feed.entries).toEqual(["batch w1/1 1", "batch w1/1 2", "batch w1/1 3"]);
    expect(feed.epochs).toEqual([running.generation]);
    expect(worker.asks).toEqual([]);
  });

  it("asks the worker for a missing range while it relays what others say", async () => {
    const { cluster, feed, discovery, worker } = await started();
    const other = new FakeWorker(cluster, "w2");
    discovery.list([worker.entry(), other.entry()]);
    await cluster.clock.advanceBy(20);
    worker.answers = false;
    worker.store(1);
    worker.store(2, false);
    worker.store(3);
    other.store(9);
    await cluster.clock.advanceBy(50);
    expect(feed.entries).toEqual(["batch w1/1 1", "batch w2/1 1"]);

    worker.answers = true;
    await cluster.clock.advanceBy(1_500);

    expect(feed.entries.slice(2)).toEqual(["batch w1/1 2", "batch w1/1 3"]);
    expect(worker.asks).toEqual([2, 2]);
    expect(feed.held("w1")).toEqual([...worker.source.cache].sort());
  });

  it("relays a worker that it meets in the middle: followers ask for what was before", async () => {
    const { cluster, feed, discovery, worker } = await started();
    const late = new FakeWorker(cluster, "w2");
    for (const block of [1, 2, 3]) late.store(block, false);
    discovery.list([worker.entry(), late.entry()]);
    await cluster.clock.advanceBy(20);

    late.store(4);
    await cluster.clock.advanceBy(50);

    expect(feed.entries).toEqual(["batch w2/1 4"]);
    expect(feed.held("w2")).toEqual([...late.source.cache].sort());
  });

  it("says gone of a worker that is lost, after its hold, and of one that was replaced at once", async () => {
    const { cluster, feed, discovery, worker } = await started();
    worker.store(1);
    worker.life.kill();
    await cluster.clock.advanceBy(5_000);
    expect(feed.entries).toEqual(["batch w1/1 1"]);
    await cluster.clock.advanceBy(1_200);
    expect(feed.entries.at(-1)).toBe("gone w1/1 0");

    const again = new FakeWorker(cluster, "w1", 2);
    discovery.list([again.entry()]);
    await cluster.clock.advanceBy(20);
    again.store(5);
    await cluster.clock.advanceBy(20);
    expect(feed.entries.at(-1)).toBe("batch w1/2 1");
    again.life.kill();
    const third = new FakeWorker(cluster, "w1", 3);
    discovery.list([third.entry()]);
    await cluster.clock.advanceBy(50);

    expect(feed.entries.at(-1)).toBe("gone w1/2 0");
  });

  it("catches up with a worker that was frozen for a moment", async () => {
    const { cluster, feed, worker } = await started();
    worker.store(1);
    await cluster.clock.advanceBy(20);
    worker.life.freeze();
    await cluster.clock.advanceBy(2_000);
    worker.store(2, false);
    worker.life.thaw();
    await cluster.clock.advanceBy(500);

    expect(feed.entries).toEqual(["batch w1/1 1", "batch w1/1 2"]);
    await cluster.clock.advanceBy(10_000);
    expect(feed.entries.length).toBe(2);
  });

  it("brings a worker back that was silent longer than it is held, within two seconds", async () => {
    const { cluster, feed, worker } = await started();
    worker.store(1);
    worker.life.freeze();
    await cluster.clock.advanceBy(7_000);
    expect(feed.entries.at(-1)).toBe("gone w1/1 0");
    expect(feed.held("w1")).toBeNull();
    worker.store(2, false);

    worker.life.thaw();
    await cluster.clock.advanceBy(500);
    worker.store(3);
    await cluster.clock.advanceBy(500);

    expect(feed.entries.slice(-3)).toEqual(["back w1/1 0", "reached w1/1 2", "batch w1/1 3"]);
    expect(feed.held("w1")).toEqual([1, 2, 3]);
  });

  it("gives a router that starts all that the workers hold, without a gap to the feed", async () => {
    const { cluster, worker } = await started();
    for (const block of [1, 2, 3]) worker.store(block);
    await cluster.clock.advanceBy(20);

    const late = followFeed(cluster, "late");
    worker.store(4);
    await cluster.clock.advanceBy(50);

    expect(late.held("w1")).toEqual([1, 2, 3, 4]);
    expect(late.follower.synced).toBe(true);
  });

  it("costs a worker one dump however many routers start", async () => {
    const { cluster, worker } = await started();
    for (let block = 1; block <= 250; block++) worker.store(block);
    await cluster.clock.advanceBy(20);
    const asksBefore = worker.asks.length;

    const routers = Array.from({ length: 8 }, (_, at) => followFeed(cluster, `late-${at}`));
    await cluster.clock.advanceBy(100);

    expect(routers.map((router) => router.held("w1")?.length)).toEqual(routers.map(() => 250));
    // 250 blocks are three pages.
    expect(worker.asks.length - asksBefore).toBe(3);
  });

  it("counts an event that it cannot decode, and gets it back from the worker", async () => {
    const { cluster, feed, worker } = await started();
    worker.store(1, false);
    worker.send(Uint8Array.of(0xc1));
    worker.store(2);
    await cluster.clock.advanceBy(50);

    expect(feed.held("w1")).toEqual([1, 2]);
    expect(await cluster.metrics.text()).toMatch(
      /baton_kv_event_aggregator_undecodable_total\{.*\} 1/,
    );
  });

  it("goes on with a counted hole after its last attempt, and routers heal it by themselves", async () => {
    const { cluster, feed, worker } = await started({
      config: { recoveryTimeoutMs: 10, recoveryAttempts: 3 },
    });
    worker.store(1);
    worker.answers = false;
    worker.store(2, false);
    worker.store(3);
    await cluster.clock.advanceBy(2_000);
    expect(feed.entries).toEqual(["batch w1/1 1", "batch w1/1 3"]);
    expect(await cluster.metrics.text()).toMatch(/event="batch_missing".*\} 1/);

    worker.answers = true;
    worker.store(4);
    await cluster.clock.advanceBy(3_000);

    expect(feed.entries.at(-1)).toBe("batch w1/1 4");
    expect(feed.held("w1")).toEqual([...worker.source.cache].sort());
  });

  it("gets back what was said while its own connection was away", async () => {
    const { cluster, feed, running, worker } = await started();
    worker.store(1);
    await cluster.clock.advanceBy(20);

    cluster.network.disconnect(running.id);
    worker.store(2);
    await cluster.clock.advanceBy(10_000);
    cluster.network.reconnect(running.id);
    await cluster.clock.advanceBy(50);

    expect(feed.entries).toEqual(["batch w1/1 1", "batch w1/1 2"]);
    await cluster.clock.advanceBy(10_000);
    expect(feed.entries.length).toBe(2);
  });

  it.each([
    ["the first", 0],
    ["a later", 3],
  ] as const)(
    "gets back %s batch that was lost though no other follows it: its worker's heartbeats tell",
    async (_, before) => {
      const { cluster, feed, worker } = await started();
      for (let block = 1; block <= before; block++) worker.store(block);
      worker.store(before + 1, false);
      await cluster.clock.advanceBy(400);

      expect(feed.held("w1")).toEqual([...worker.source.cache].sort());
      expect(feed.entries.length).toBe(before + 1);
      const asks = worker.asks.length;
      await cluster.clock.advanceBy(10_000);
      expect(worker.asks.length).toBe(asks);
    },
  );

  it("begins an epoch when it is back, so that followers compare: its last entries may be lost", async () => {
    const { cluster, feed, running, worker } = await started();
    cluster.network.disconnect(running.id);
    worker.store(1);
    await cluster.clock.advanceBy(3_000);
    cluster.network.reconnect(running.id);
    await cluster.clock.advanceBy(50);
    worker.store(2);
    await cluster.clock.advanceBy(50);

    expect(feed.epochs.at(-1)).toBeGreaterThan(running.generation);
  });

  it("is silent beside an elder of its models, and takes over with an epoch of its own", async () => {
    const { cluster, feed, running, worker } = await started();
    const spare = cluster.start(kvEventAggregator, config, { id: "spare" });
    await cluster.clock.advanceBy(600);
    worker.store(1);
    await cluster.clock.advanceBy(20);
    expect(feed.entries).toEqual(["batch w1/1 1"]);

    await running.kill();
    await cluster.clock.advanceBy(1_000);
    worker.store(2);
    await cluster.clock.advanceBy(50);

    expect(feed.entries.at(-1)).toBe("batch w1/1 2");
    expect(feed.held("w1")).toEqual([1, 2]);
    expect(feed.epochs[0]).toBe(running.generation);
    expect(feed.epochs[1]).toBeGreaterThan(spare.generation);
  });

  it("begins an epoch of its own when it speaks again, so that nobody takes it for the one before", async () => {
    const { cluster, feed, running, worker } = await started();
    cluster.start(kvEventAggregator, config, { id: "spare" });
    await cluster.clock.advanceBy(600);
    cluster.network.disconnect(running.id);
    await cluster.clock.advanceBy(3_000);
    worker.store(1);
    await cluster.clock.advanceBy(20);
    cluster.network.reconnect(running.id);
    await cluster.clock.advanceBy(3_000);

    worker.store(2);
    await cluster.clock.advanceBy(50);

    expect(feed.held("w1")).toEqual([1, 2]);
  });

  it("gathers one model only if it is told to", async () => {
    const { cluster, feed, worker } = await started({ config: { model: "another" } });
    worker.store(1);
    await cluster.clock.advanceBy(50);
    expect(feed.entries).toEqual([]);

    const asked = feed.bus.request(cluster.subjects.getKvPositions(model), new Uint8Array(), {
      timeoutMs: 500,
    });
    const failed = expect(asked).rejects.toMatchObject({ code: "no_responders" });
    await cluster.clock.advanceBy(50);
    await failed;
  });

  it("leaves nothing running when it stops", async () => {
    const { cluster, feed, running, worker } = await started();
    worker.store(2, false);
    worker.store(3);
    worker.answers = false;
    await cluster.clock.advanceBy(20);
    worker.life.freeze();
    feed.follower.stop();

    const drained = running.drain();
    await cluster.clock.advanceBy(8_000);
    await drained;

    expect(running.state).toBe("stopped");
    expect(cluster.clock.pendingTimers).toBe(1);
  });
});
