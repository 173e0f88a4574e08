import { discovery } from "@baton/discovery";
import { Catalog, type CatalogWorker } from "@baton/protocol";
import { readOptions } from "@baton/runtime";
import { catalog, catalogWorker, memoryCluster, workerRegistration } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { ClusterMonitor } from "../../src/bus-tools/cluster-monitor.ts";

describe("ClusterMonitor", () => {
  it("sees an actor that started before it, and calls it lost when it falls silent", async () => {
    const cluster = memoryCluster();
    const actor = cluster.start(discovery, readOptions(discovery.options, { flags: {}, env: {} }), {
      id: "d",
    });
    await cluster.clock.advanceBy(5_000);
    const monitor = new ClusterMonitor({
      bus: cluster.bus("watcher"),
      subjects: cluster.subjects,
      clock: cluster.clock,
    });

    monitor.start();
    await cluster.clock.advanceBy(50);
    const before = monitor.status().actors.map(({ id, state }) => [id, state]);
    await actor.kill();
    await cluster.clock.advanceBy(2_000);
    const after = monitor.status().actors.map(({ id, state }) => [id, state]);

    expect(before).toEqual([["d", "ready"]]);
    expect(after).toEqual([["d", "lost"]]);
    monitor.stop();
  });

  it("keeps to the catalog of the Discovery that speaks, though one that began later has spoken once", async () => {
    const cluster = memoryCluster();
    const { clock, subjects } = cluster;
    const speaker = cluster.bus("discoveries");
    const monitor = new ClusterMonitor({ bus: cluster.bus("watcher"), subjects, clock });
    monitor.start();
    const say = (epoch: number, workers: CatalogWorker[], complete: boolean) =>
      speaker.publish(
        subjects.catalogPublished(),
        Catalog.encode(catalog(workers, { epoch, revision: 2, complete })),
      );
    const listed = catalogWorker(workerRegistration({ id: "p", workerType: "prefill", needs: [] }));

    say(1_000, [listed], true);
    await clock.advanceBy(50);
    say(2_000, [], false);
    await clock.advanceBy(50);
    say(1_000, [listed], true);
    await clock.advanceBy(50);

    expect(monitor.status().models).toHaveLength(1);
    monitor.stop();
  });
});
