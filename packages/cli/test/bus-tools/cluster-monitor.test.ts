import { discovery } from "@baton/discovery";
import { readOptions } from "@baton/runtime";
import { memoryCluster } from "@baton/testing";
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
});
