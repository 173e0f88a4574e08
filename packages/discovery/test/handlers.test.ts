import { WorkerDeregistration } from "@baton/protocol";
import { memoryCluster } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { discovery } from "../src/actor.ts";
import { FakeWorker } from "./support/fake-worker.ts";

async function setUp() {
  const cluster = memoryCluster();
  const config = {
    lostOwnsMs: 60_000,
    waitingClaimMs: 15_000,
    forgetAfterMs: 600_000,
    maxWorkers: 2,
  };
  cluster.start(discovery, config, { id: "disc" });
  await cluster.clock.advanceBy(10);
  const registered = async (worker: FakeWorker) => {
    const reply = worker.register();
    await cluster.clock.advanceBy(20);
    return reply;
  };
  const figure = async (name: string, label: string) => {
    const lines = (await cluster.metrics.text()).split("\n");
    const line = lines.find((text) => text.startsWith(`${name}{`) && text.includes(label));
    return line?.split(" ").at(-1);
  };
  return { cluster, registered, figure };
}

describe("discovery's handlers", () => {
  it("count registrations by what came of them", async () => {
    const { cluster, registered, figure } = await setUp();

    expect(await registered(new FakeWorker(cluster, "p1"))).toMatchObject({
      accepted: true,
      why: null,
    });
    expect((await registered(new FakeWorker(cluster, "p2", { engine: "x" }))).accepted).toBe(false);
    expect((await registered(new FakeWorker(cluster, "p3"))).why).toContain("limit");

    for (const outcome of ["accepted", "refused", "rejected"]) {
      expect(await figure("baton_discovery_registrations_total", `outcome="${outcome}"`)).toBe("1");
    }
    expect(await figure("baton_discovery_workers", 'state="refused"')).toBe("1");
  });

  it("count the workers that are lost and that come back", async () => {
    const { cluster, registered, figure } = await setUp();
    const worker = new FakeWorker(cluster, "p1");
    await registered(worker);
    await cluster.clock.advanceBy(2_000);
    worker.life.freeze();
    await cluster.clock.advanceBy(2_000);
    worker.life.thaw();
    await cluster.clock.advanceBy(500);

    expect(await figure("baton_discovery_workers_changed_total", 'change="lost"')).toBe("1");
    expect(await figure("baton_discovery_workers_changed_total", 'change="returned"')).toBe("1");
  });

  it("take a goodbye as a request too, and none of another generation", async () => {
    const { cluster, registered, figure } = await setUp();
    const worker = new FakeWorker(cluster, "p1");
    await registered(worker);
    const say = async (generation: number) => {
      const bytes = WorkerDeregistration.encode({ id: "p1", generation });
      const subject = cluster.subjects.deregister();
      const said = worker.life.bus.request(subject, bytes, { timeoutMs: 500 });
      await cluster.clock.advanceBy(20);
      await said;
    };

    await say(9);
    expect(await figure("baton_discovery_workers", 'state="live"')).toBe("1");
    await say(1);

    expect(await figure("baton_discovery_workers", 'state="draining"')).toBe("1");
  });
});
