import {
  ActorHeartbeat,
  Catalog,
  type CatalogWorker,
  LoadReport,
  modelName,
  workerId,
} from "@baton/protocol";
import type { Bus } from "@baton/runtime";
import { type MemoryCluster, memoryCluster, PlayedActor, testModel } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { createClusterView } from "../src/create-cluster-view.ts";
import { catalogWith, catalogWorker, heartbeatWith, loadWith } from "./support/builders.ts";

const beatMs = 250;
const model = modelName(testModel);
const pair = [catalogWorker("p1"), catalogWorker("d1")];

/** A Discovery that says what the test wants. */
class FakeDiscovery {
  readonly bus: Bus;
  catalog: Catalog | null = null;
  asked = 0;
  readonly #cluster: MemoryCluster;
  readonly #generation: number;

  constructor(cluster: MemoryCluster, id = "disc", generation = 1) {
    this.#cluster = cluster;
    this.#generation = generation;
    this.bus = cluster.bus(id);
    this.bus.subscribe(cluster.subjects.getCatalog(), (message) => {
      this.asked += 1;
      if (this.catalog !== null) message.respond(Catalog.encode(this.catalog));
    });
    cluster.clock.setRepeating(beatMs, () => this.beat(id));
  }

  publish(workers: readonly CatalogWorker[], mark: Partial<Catalog> = {}): void {
    this.set(workers, mark);
    if (this.catalog === null) return;
    this.bus.publish(this.#cluster.subjects.catalogPublished(), Catalog.encode(this.catalog));
  }

  set(workers: readonly CatalogWorker[], mark: Partial<Catalog> = {}): void {
    this.catalog = catalogWith(workers, { epoch: this.#generation, ...mark });
  }

  beat(id = "disc"): void {
    if (this.bus.state !== "connected") return;
    const { catalog } = this;
    const generation = this.#generation;
    const mark =
      catalog === null
        ? null
        : { epoch: generation, revision: catalog.revision, complete: catalog.complete };
    const heartbeat = heartbeatWith(id, { role: "discovery", generation, catalog: mark });
    this.bus.publish(
      this.#cluster.subjects.heartbeat("discovery", null, heartbeat.id as never),
      ActorHeartbeat.encode(heartbeat),
    );
  }
}

const playWorker = (cluster: MemoryCluster, id: string, generation = 1) =>
  new PlayedActor(cluster, { role: "worker", id, model, generation });

async function started(options: { readonly loads?: boolean } = {}) {
  const beats: string[] = [];
  const cluster = memoryCluster();
  const context = cluster.context({ role: "decode-router", id: "follower" });
  const view = createClusterView(context, {
    follow: { loads: options.loads ?? true },
    onWorkerBeat: ({ id }) => beats.push(id),
  });
  const lost: string[] = [];
  view.onWorkerLost(({ id }, why) => lost.push(`${id} ${why}`));
  await view.start();
  return { cluster, context, view, lost, beats };
}

const states = (view: ReturnType<typeof createClusterView>) =>
  Object.fromEntries((view.model(testModel)?.workers ?? []).map(({ id, state }) => [id, state]));

describe("createClusterView", () => {
  it("asks for the catalog until Discovery is there, and then follows what it publishes", async () => {
    const { cluster, view } = await started();
    await cluster.clock.advanceBy(700);
    expect(view.synced).toBe(false);

    const discovery = new FakeDiscovery(cluster);
    discovery.set(pair);
    await cluster.clock.advanceBy(1_100);
    expect(view.synced).toBe(true);
    expect(states(view)).toEqual({ p1: "live", d1: "live" });

    discovery.publish([catalogWorker("p1")], { revision: 2 });
    await cluster.clock.advanceBy(10);
    expect(states(view)).toEqual({ p1: "live" });
  });

  it("tells each life sign of a worker, listed or not", async () => {
    const { cluster, beats } = await started();
    playWorker(cluster, "w1");
    await cluster.clock.advanceBy(1_010);

    expect(beats).toEqual(Array.from({ length: 5 }, () => "w1"));
  });

  it("asks again when a heartbeat is ahead of what it has heard", async () => {
    const { cluster, view } = await started();
    const discovery = new FakeDiscovery(cluster);
    discovery.set(pair);
    await cluster.clock.advanceBy(300);
    const { asked } = discovery;

    discovery.set([catalogWorker("d1")], { revision: 5 });
    await cluster.clock.advanceBy(300);
    expect(discovery.asked).toBe(asked + 1);
    expect(states(view)).toEqual({ d1: "live" });
    await cluster.clock.advanceBy(2_000);
    expect(discovery.asked).toBe(asked + 1);
  });

  it("keeps the last complete catalog while Discovery is gone and while a later one is incomplete", async () => {
    const { cluster, view, lost } = await started();
    playWorker(cluster, "p1");
    playWorker(cluster, "d1");
    const first = new FakeDiscovery(cluster);
    first.publish(pair);
    await cluster.clock.advanceBy(500);
    await first.bus.close();
    await cluster.clock.advanceBy(5_000);
    expect(states(view)).toEqual({ p1: "live", d1: "live" });

    const second = new FakeDiscovery(cluster, "disc2", 2);
    second.publish([], { complete: false });
    await cluster.clock.advanceBy(1_000);
    expect(view.synced).toBe(true);
    expect(states(view)).toEqual({ p1: "live", d1: "live" });
    second.publish([catalogWorker("p1")], { revision: 2 });
    await cluster.clock.advanceBy(300);

    expect(states(view)).toEqual({ p1: "live" });
    expect(view.worker(workerId("d1"))?.state).toBe("draining");
    expect(lost).toEqual([]);
  });

  it("sees a killed worker in under a second, with no Discovery", async () => {
    const { cluster, view, lost } = await started();
    const worker = playWorker(cluster, "p1");
    playWorker(cluster, "d1");
    const discovery = new FakeDiscovery(cluster);
    discovery.publish(pair);
    await cluster.clock.advanceBy(2_000);
    await discovery.bus.close();
    await cluster.clock.advanceBy(2_000);

    await worker.bus.close();
    await cluster.clock.advanceBy(999);

    expect(lost).toEqual(["p1 no_responders"]);
    expect(states(view)).toEqual({ p1: "lost", d1: "live" });
    expect(view.model(testModel)?.catalog.why?.code).toBe("missing_prefill");
  });

  it("counts a listed worker as live for a lease before it is heard", async () => {
    const { cluster, view, lost } = await started();
    playWorker(cluster, "p1");
    const discovery = new FakeDiscovery(cluster);
    discovery.publish(pair);
    await cluster.clock.advanceBy(900);
    expect(states(view)).toEqual({ p1: "live", d1: "live" });

    await cluster.clock.advanceBy(700);

    expect(states(view)).toEqual({ p1: "live", d1: "lost" });
    expect(lost).toEqual(["d1 silent"]);
  });

  it("follows loads of listed models, by generation and sequence, and takes no work to one that refuses it", async () => {
    const { cluster, view } = await started();
    const worker = playWorker(cluster, "p1");
    const taken: number[] = [];
    view.onLoad(({ sequence }) => taken.push(sequence));
    const discovery = new FakeDiscovery(cluster);
    discovery.publish(pair);
    await cluster.clock.advanceBy(100);
    const report = (fields: Partial<LoadReport>) =>
      worker.bus.publish(
        cluster.subjects.loadReported(model, workerId("p1")),
        LoadReport.encode(loadWith("p1", fields)),
      );

    report({ sequence: 1, activeBlocks: 3 });
    report({ sequence: 1 });
    report({ sequence: 2, generation: 7 });
    report({ sequence: 3, accepting: false });
    await cluster.clock.advanceBy(100);

    expect(taken).toEqual([1, 3]);
    expect(states(view)).toEqual({ p1: "draining", d1: "live" });
  });

  it("follows no loads if it is not told to", async () => {
    const { cluster, view } = await started({ loads: false });
    const worker = playWorker(cluster, "p1");
    const discovery = new FakeDiscovery(cluster);
    discovery.publish(pair);
    await cluster.clock.advanceBy(100);

    const subject = cluster.subjects.loadReported(model, workerId("p1"));
    worker.bus.publish(subject, LoadReport.encode(loadWith("p1")));
    await cluster.clock.advanceBy(100);

    expect(view.worker(workerId("p1"))?.load).toBeNull();
  });

  it("does not flap between two Discoveries", async () => {
    const { cluster, view } = await started();
    const first = new FakeDiscovery(cluster, "disc", 1);
    first.publish(pair);
    await cluster.clock.advanceBy(500);
    const second = new FakeDiscovery(cluster, "disc2", 2);
    let changes = 0;
    view.onChange(() => {
      changes += 1;
    });

    for (let round = 1; round < 5; round++) {
      second.publish([catalogWorker("p1")], { revision: round });
      await cluster.clock.advanceBy(400);
      expect(Object.keys(states(view))).toEqual(["p1", "d1"]);
    }
    expect(changes).toBeLessThanOrEqual(2);
    await first.bus.close();
    await cluster.clock.advanceBy(1_500);

    expect(Object.keys(states(view))).toEqual(["p1"]);
  });

  it("gives nobody up while the bus is away, and asks for the catalog when it is back", async () => {
    const { cluster, view, lost } = await started();
    playWorker(cluster, "p1");
    const discovery = new FakeDiscovery(cluster);
    discovery.publish(pair);
    await cluster.clock.advanceBy(300);
    const { asked } = discovery;

    cluster.network.stopServer();
    await cluster.clock.advanceBy(10_000);
    discovery.set([...pair, catalogWorker("d2")], { revision: 2 });
    cluster.network.startServer();
    await cluster.clock.advanceBy(300);

    expect(discovery.asked).toBeGreaterThan(asked);
    expect(states(view)).toEqual({ p1: "live", d1: "live", d2: "live" });
    await cluster.clock.advanceBy(650);
    expect(lost).toEqual([]);
  });

  it("blames nobody for silence while it stood still itself", async () => {
    const { cluster, context, view, lost } = await started();
    const discovery = new FakeDiscovery(cluster);
    discovery.publish(pair);
    await cluster.clock.advanceBy(300);
    context.clock.pause();
    await cluster.clock.advanceBy(5_000);

    context.clock.resume();
    await cluster.clock.advanceBy(500);
    expect(states(view)).toEqual({ p1: "live", d1: "live" });
    await cluster.clock.advanceBy(2_000);

    expect(lost).toEqual(["p1 silent", "d1 silent"]);
  });

  it("leaves no timer behind when it is stopped", async () => {
    const cluster = memoryCluster();
    const context = cluster.context({ role: "decode-router", id: "follower" });
    const view = createClusterView(context, { follow: { loads: true } });
    await view.start();
    await cluster.clock.advanceBy(1_000);

    view.stop();
    await cluster.clock.advanceBy(5_000);

    expect(cluster.clock.pendingTimers).toBe(0);
  });
});
