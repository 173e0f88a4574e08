import { Catalog, type RegistrationReply } from "@baton/protocol";
import { type MemoryCluster, memoryCluster, testModel } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { discovery } from "../src/actor.ts";
import type { DiscoveryConfig } from "../src/config.ts";
import { FakeWorker } from "./support/fake-worker.ts";

const leaseMs = 4.4 * 250;
const config: DiscoveryConfig = {
  lostOwnsMs: 60_000,
  waitingClaimMs: 15_000,
  forgetAfterMs: 600_000,
  maxWorkers: 1_000,
};

/** Hears catalogs as a follower would. */
function listener(cluster: MemoryCluster) {
  const bus = cluster.bus("listener");
  const heard: Catalog[] = [];
  bus.subscribe(cluster.subjects.catalogPublished(), ({ payload }) => {
    heard.push(Catalog.decode(payload));
  });
  const ask = async () =>
    Catalog.decode(
      await bus.request(cluster.subjects.getCatalog(), new Uint8Array(), { timeoutMs: 500 }),
    );
  return { heard, last: () => heard.at(-1), ask };
}

const states = (catalog: Catalog | undefined) =>
  Object.fromEntries(
    (catalog?.workers ?? []).map(({ registration, state }) => [registration.id, state]),
  );

/** The value of a promise that needs time to move. */
async function after<T>(cluster: MemoryCluster, promise: Promise<T>, ms = 50): Promise<T> {
  await cluster.clock.advanceBy(ms);
  return promise;
}

async function readyCluster(options: { readonly workers?: readonly string[] } = {}) {
  const cluster = memoryCluster();
  const follower = listener(cluster);
  const running = cluster.start(discovery, config, { id: "disc" });
  await cluster.clock.advanceBy(10);
  const workers = (options.workers ?? []).map((id) => new FakeWorker(cluster, id));
  for (const worker of workers) await after(cluster, worker.register());
  await cluster.clock.advanceBy(leaseMs + 50);
  return { cluster, follower, running, workers };
}

describe("discovery", () => {
  it("publishes a complete catalog one lease after its start, and is ready from then on", async () => {
    const cluster = memoryCluster();
    const { heard } = listener(cluster);
    const running = cluster.start(discovery, config, { id: "disc" });

    await cluster.clock.advanceBy(leaseMs - 10);
    expect(running.state).toBe("syncing");
    await cluster.clock.advanceBy(50);

    expect(running.state).toBe("ready");
    expect(heard.map(({ revision, complete }) => [revision, complete])).toEqual([[1, true]]);
    expect(heard[0]?.epoch).toBe(running.generation);
  });

  it("lists both halves of a model, and calls it ready", async () => {
    const { follower } = await readyCluster({ workers: ["p1", "d1"] });

    expect(states(follower.last())).toEqual({ p1: "live", d1: "live" });
    expect(follower.last()?.models).toMatchObject([{ model: testModel, ready: true }]);
  });

  it("sends many changes of one moment as one catalog", async () => {
    const { cluster, follower } = await readyCluster();
    const before = follower.heard.length;
    const workers = Array.from({ length: 30 }, (_, index) => new FakeWorker(cluster, `a${index}`));

    const replies = workers.map((worker) => worker.register());
    await after(cluster, Promise.all(replies));

    expect(follower.last()?.workers.length).toBe(30);
    expect(follower.heard.length - before).toBeLessThanOrEqual(3);
  });

  it("refuses a card that differs, names the fields to the worker and to followers", async () => {
    const { cluster, follower } = await readyCluster({ workers: ["p1", "d1"] });
    const stranger = new FakeWorker(cluster, "d2", { blockSize: 16 });

    const reply = await after(cluster, stranger.register());

    const conflicts = [{ field: "blockSize", serving: "64", offered: "16" }];
    expect(reply).toMatchObject({ accepted: false, conflicts });
    expect(reply.why).toContain("blockSize");
    expect(follower.last()?.workers.at(-1)).toMatchObject({ state: "refused", conflicts });
    expect(follower.last()?.models[0]?.ready).toBe(true);
  });

  it("sees a killed worker in under a second and keeps it, lost", async () => {
    const { cluster, follower, workers } = await readyCluster({ workers: ["p1", "d1"] });

    workers[0]?.life.kill();
    await cluster.clock.advanceBy(950);

    expect(states(follower.last())).toEqual({ p1: "lost", d1: "live" });
    expect(follower.last()?.models[0]).toMatchObject({
      ready: false,
      why: { code: "missing_prefill" },
    });
  });

  it("takes a frozen worker back when it is heard again", async () => {
    const { cluster, follower, workers } = await readyCluster({ workers: ["p1", "d1"] });
    workers[0]?.life.freeze();
    await cluster.clock.advanceBy(1_500);
    expect(states(follower.last())).toMatchObject({ p1: "lost" });

    workers[0]?.life.thaw();
    await cluster.clock.advanceBy(300);

    expect(states(follower.last())).toMatchObject({ p1: "live" });
  });

  it("shows a worker that leaves as draining at once, and drops it when it is gone", async () => {
    const { cluster, follower, workers } = await readyCluster({ workers: ["p1", "d1"] });

    workers[0]?.deregister();
    await cluster.clock.advanceBy(20);
    expect(states(follower.last())).toEqual({ p1: "draining", d1: "live" });
    workers[0]?.life.kill();
    await cluster.clock.advanceBy(1_000);

    expect(states(follower.last())).toEqual({ d1: "live" });
  });

  it("counts a restarted worker by its later generation", async () => {
    const { cluster, follower, workers } = await readyCluster({ workers: ["p1", "d1"] });
    workers[0]?.life.kill();
    const again = new FakeWorker(cluster, "p1", {}, { generation: 2 });

    const reply = await after(cluster, again.register());
    await cluster.clock.advanceBy(2_000);

    expect(reply.accepted).toBe(true);
    expect(states(follower.last())).toEqual({ d1: "live", p1: "live" });
  });

  it("answers with its newest catalog, and its heartbeat says which that is", async () => {
    const { cluster, follower } = await readyCluster({ workers: ["p1"] });
    const newcomer = new FakeWorker(cluster, "d1");
    const reply = newcomer.register();

    const asked = await after(cluster, follower.ask());

    expect((await reply).accepted).toBe(true);
    expect(asked.revision).toBe(follower.last()?.revision);
    expect(states(asked)).toEqual({ p1: "live", d1: "live" });
  });

  it("answers a registration that it cannot take with why", async () => {
    const { cluster, running } = await readyCluster();
    const foreign = new FakeWorker(cluster, "p1", {}, { namespace: "elsewhere" });
    const nameless = new FakeWorker(cluster, "p2", {}, {});
    const garbage = cluster.bus("garbage");

    const first = await after(cluster, foreign.register());
    Object.assign(nameless.registration, { id: "not a token" });
    const second = await after(cluster, nameless.register());
    const third = garbage.request(cluster.subjects.register(), Uint8Array.of(0xc1), {
      timeoutMs: 500,
    });

    expect(first).toMatchObject({ accepted: false, why: "this is namespace test" });
    expect(second.why).toContain("worker id");
    await expect(after(cluster, third)).resolves.toBeInstanceOf(Uint8Array);
    expect(running.state).toBe("ready");
    expect(await cluster.metrics.text()).toMatch(
      /baton_discovery_malformed_messages_total\{.*\} 1/,
    );
  });

  it("is rebuilt after a restart before it calls its catalog complete", async () => {
    const { cluster, running, follower, workers } = await readyCluster({ workers: ["p1", "d1"] });
    await running.kill();
    await cluster.clock.advanceBy(2_000);
    const heardBefore = follower.heard.length;

    const second = cluster.start(discovery, config, { id: "disc2" });
    await cluster.clock.advanceBy(500);
    const replies: Promise<RegistrationReply>[] = workers.map((worker) => worker.register());
    await cluster.clock.advanceBy(leaseMs);

    expect((await replies[0])?.epoch).toBe(second.generation);
    const heard = follower.heard.slice(heardBefore);
    expect(heard.filter(({ complete }) => complete).map(states)).toEqual([
      { p1: "live", d1: "live" },
    ]);
    expect(heard.every(({ epoch }) => epoch === second.generation)).toBe(true);
  });

  it("waits longer for workers that it hears but that have not registered, with an end", async () => {
    const cluster = memoryCluster();
    const follower = listener(cluster);
    new FakeWorker(cluster, "p1");
    const late = new FakeWorker(cluster, "d1");
    cluster.start(discovery, config, { id: "disc" });

    await cluster.clock.advanceBy(leaseMs + 500);
    await after(cluster, late.register());
    expect(follower.heard.every(({ complete }) => !complete)).toBe(true);
    await cluster.clock.advanceBy(2 * leaseMs);

    expect(follower.last()?.complete).toBe(true);
  });

  it("keeps quiet while an elder Discovery speaks, and takes over with all it has heard", async () => {
    const { cluster, follower, running, workers } = await readyCluster({ workers: ["p1"] });
    const spare = cluster.start(discovery, config, { id: "spare" });
    await cluster.clock.advanceBy(2 * leaseMs);
    const newcomer = new FakeWorker(cluster, "d1");
    const reply = await after(cluster, newcomer.register());
    expect(reply.epoch).toBe(running.generation);
    await after(cluster, workers[0]?.register() ?? Promise.reject());
    expect(follower.heard.every(({ epoch }) => epoch === running.generation)).toBe(true);

    await running.kill();
    await cluster.clock.advanceBy(1_000);

    expect(follower.last()).toMatchObject({ epoch: spare.generation, complete: true });
    expect(states(follower.last())).toEqual({ d1: "live", p1: "live" });
  });

  it("gives nobody up while the bus is away, nor when it is back, and publishes again", async () => {
    const { cluster, follower, workers } = await readyCluster({ workers: ["p1", "d1"] });
    const { revision } = follower.last() ?? { revision: 0 };

    cluster.network.stopServer();
    await cluster.clock.advanceBy(10_000);
    cluster.network.startServer();
    await cluster.clock.advanceBy(leaseMs);

    expect(states(follower.last())).toEqual({ p1: "live", d1: "live" });
    expect(follower.last()?.revision).toBe(revision);
    workers[0]?.life.kill();
    await cluster.clock.advanceBy(1_500);
    expect(states(follower.last())).toMatchObject({ p1: "lost" });
  });

  it("begins its rebuilding again when the bus was away meanwhile", async () => {
    const cluster = memoryCluster();
    const follower = listener(cluster);
    cluster.start(discovery, config, { id: "disc" });
    await cluster.clock.advanceBy(leaseMs - 100);

    cluster.network.stopServer();
    await cluster.clock.advanceBy(5_000);
    cluster.network.startServer();
    await cluster.clock.advanceBy(leaseMs - 100);
    expect(follower.heard.every(({ complete }) => !complete)).toBe(true);
    await cluster.clock.advanceBy(300);

    expect(follower.last()?.complete).toBe(true);
  });

  it("leaves nothing running when it stops", async () => {
    const { cluster, running, workers } = await readyCluster({ workers: ["p1"] });

    for (const worker of workers) worker.life.freeze();
    await after(cluster, running.drain(), 1_000);

    expect(running.state).toBe("stopped");
    expect(cluster.clock.pendingTimers).toBe(1);
  });
});
