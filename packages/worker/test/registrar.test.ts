import { ActorHeartbeat, Catalog } from "@baton/protocol";
import { catalog, catalogWorker, workerRegistration } from "@baton/testing";
import { beforeEach, describe, expect, it } from "vitest";
import {
  fakeDiscovery,
  model,
  type WorkerCluster,
  workerCluster,
} from "./support/worker-cluster.ts";

let cluster: WorkerCluster;
beforeEach(() => {
  cluster = workerCluster();
});

const publishCatalog = (epoch: number, workers: Parameters<typeof catalog>[0]) => {
  const bytes = Catalog.encode(catalog(workers, { epoch }));
  cluster.discovery.bus.publish(cluster.subjects.catalogPublished(), bytes);
};

describe("registration", () => {
  it("tells Discovery what the worker is, and makes it ready", async () => {
    const worker = await cluster.startWorker({
      "worker-type": "prefill",
      topology: ["rack=r1", "zone=z=2"],
      "kv-transfer-domain": "rack",
    });

    const [registration] = cluster.discovery.registrations;
    expect(registration).toMatchObject({
      id: worker.id,
      generation: worker.generation,
      workerType: "prefill",
      set: "prefill",
      needs: [["decode"]],
      topology: { rack: "r1", zone: "z=2" },
      kvTransfer: { domain: "rack", enforcement: "required", preferredWeight: null },
      capacity: { totalBlocks: 256, maxSequences: 256, dpSize: 1 },
      card: { model, engine: "mock", blockSize: 16, contextLength: 2_000, hashSalt: "" },
    });
    expect(worker.heartbeat()).toMatchObject({ model, workerType: "prefill", set: "prefill" });
    expect(cluster.loads.at(-1)?.accepting ?? true).toBe(true);
  });

  it("carries how strictly KV stays in its domain, and how the worker's pool is to be routed", async () => {
    await cluster.startWorker({
      "worker-type": "prefill",
      topology: ["rack=r1"],
      "kv-transfer-domain": "rack",
      "kv-transfer-enforcement": "preferred",
      "kv-transfer-preferred-weight": 0.85,
      "router-config": '{"mode":"kv","sessionAffinityTtlSecs":60}',
      taint: ["spot", "gpu", "spot"],
    });

    expect(cluster.discovery.registrations[0]).toMatchObject({
      kvTransfer: { domain: "rack", enforcement: "preferred", preferredWeight: 0.85 },
      card: { routerConfig: { mode: "kv", sessionAffinityTtlSecs: 60 } },
      taints: ["spot", "gpu"],
    });
  });

  it.each([
    ["decode", {}, [["prefill"]]],
    ["decode", { "decode-only": true }, []],
    ["aggregated", {}, []],
  ])("of a %s worker with %j needs %j", async (type, flags, needs) => {
    await cluster.startWorker({ "worker-type": type, ...flags });

    expect(cluster.discovery.registrations[0]?.needs).toEqual(needs);
  });

  it("is tried again while Discovery is not there, with growing waits", async () => {
    const alone = workerCluster();
    await alone.discovery.bus.close();
    const worker = await alone.startWorker({}, { awaitReady: false });
    await alone.clock.advanceBy(30_000);
    expect(worker.state).toBe("syncing");

    const late = fakeDiscovery(alone, "discovery-2");
    await alone.until(() => worker.state === "ready");

    expect(late.registrations).toHaveLength(1);
  });

  it("that is refused leaves the worker not ready, and is tried again slowly", async () => {
    cluster.discovery.reply = {
      accepted: false,
      epoch: 1,
      conflicts: [{ field: "blockSize", serving: "64", offered: "16" }],
      why: "the card differs in blockSize",
    };
    const worker = await cluster.startWorker({}, { awaitReady: false });
    await cluster.clock.advanceBy(2_000);

    expect(worker.state).toBe("syncing");
    expect(worker.why).toContain("blockSize");
    expect(cluster.discovery.registrations).toHaveLength(1);
    expect(cluster.loads.at(-1)).toMatchObject({ accepting: false });

    cluster.discovery.reply = { accepted: true, epoch: 1, conflicts: [], why: null };
    await cluster.until(() => worker.state === "ready");
  });

  it("is renewed when Discovery has a new epoch, and the worker serves on", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });
    cluster.discovery.reply = { ...cluster.discovery.reply, epoch: 2 };
    const beat: ActorHeartbeat = {
      ...worker.heartbeat(),
      id: "discovery-1",
      role: "discovery",
      model: null,
      catalog: { epoch: 2, revision: 0, complete: false },
    };
    const subject = cluster.subjects.heartbeat("discovery", null, cluster.frontend.id);
    cluster.discovery.bus.publish(subject, ActorHeartbeat.encode(beat));

    await cluster.until(() => cluster.discovery.registrations.length === 2);
    expect(worker.state).toBe("ready");

    cluster.discovery.bus.publish(subject, ActorHeartbeat.encode(beat));
    await cluster.clock.advanceBy(1_000);
    expect(cluster.discovery.registrations).toHaveLength(2);
  });

  it.each([
    ["does not list it", []],
    ["lists it as lost", [["lost", 0]]],
    ["lists it as refused, which nobody has told it", [["refused", 0]]],
    ["lists an earlier generation of it", [["live", -1]]],
  ] as const)("is renewed when a catalog %s", async (_what, entries) => {
    const worker = await cluster.startWorker();

    publishCatalog(
      1,
      entries.map(([state, change]) =>
        catalogWorker(
          workerRegistration({ id: worker.id, generation: worker.generation + change }),
          { state },
        ),
      ),
    );

    await cluster.until(() => cluster.discovery.registrations.length === 2);
  });

  it("that was refused is not tried again for a catalog that says so too, and is for one that lists it", async () => {
    cluster.discovery.reply = { accepted: false, epoch: 1, conflicts: [], why: "differs" };
    const worker = await cluster.startWorker({}, { awaitReady: false });
    await cluster.clock.advanceBy(1_000);
    const own = workerRegistration({ id: worker.id, generation: worker.generation });

    publishCatalog(1, [catalogWorker(own, { state: "refused" })]);
    await cluster.clock.advanceBy(1_000);
    expect(cluster.discovery.registrations).toHaveLength(1);

    publishCatalog(1, [catalogWorker(own)]);
    await cluster.clock.advanceBy(100);
    expect(cluster.discovery.registrations).toHaveLength(2);
  });

  it("is left alone by a catalog that lists it", async () => {
    const worker = await cluster.startWorker();
    const own = workerRegistration({ id: worker.id, generation: worker.generation });

    publishCatalog(1, [catalogWorker(own)]);
    await cluster.clock.advanceBy(2_000);

    expect(cluster.discovery.registrations).toHaveLength(1);
  });
});
