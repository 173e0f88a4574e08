import { Catalog } from "@baton/protocol";
import { expect, it } from "vitest";
import { catalogWorker, registrationOf } from "../src/builders.ts";
import { memoryCluster } from "../src/memory-cluster.ts";
import { PlayedDiscovery } from "../src/played-discovery.ts";

it("answers with what it lists, and publishes each catalog with a revision of its own", async () => {
  const cluster = memoryCluster();
  const discovery = new PlayedDiscovery(cluster);
  const bus = cluster.bus("ear");
  const heard: Catalog[] = [];
  bus.subscribe(cluster.subjects.catalogPublished(), ({ payload }) => {
    heard.push(Catalog.decode(payload));
  });
  const ask = async () => {
    const asked = bus.request(cluster.subjects.getCatalog(), new Uint8Array(), { timeoutMs: 100 });
    await cluster.clock.advanceBy(10);
    return Catalog.decode(await asked);
  };
  const [prefill, decode] = ["p-1", "d-1"].map((id) => catalogWorker(registrationOf(id)));
  if (prefill === undefined || decode === undefined) throw new Error("no workers");
  expect(await ask()).toMatchObject({ revision: 0, workers: [] });

  discovery.list([prefill, decode]);
  discovery.list([decode]);

  expect(await ask()).toMatchObject({ revision: 2, workers: [decode] });
  expect(heard.map(({ revision, workers }) => [revision, workers.length])).toEqual([
    [1, 2],
    [2, 1],
  ]);
  expect([discovery.revision, discovery.workers]).toEqual([2, [decode]]);
});
