import { Catalog, ServingError } from "@baton/protocol";
import { memoryCluster } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { CatalogPublisher } from "../src/catalog-publisher.ts";
import { registrationWith, registryWith } from "./support/builders.ts";

function setUp() {
  const cluster = memoryCluster();
  const heard: Catalog[] = [];
  cluster.bus("listener").subscribe(cluster.subjects.catalogPublished(), ({ payload }) => {
    heard.push(Catalog.decode(payload));
  });
  const context = cluster.context({ role: "discovery", id: "disc", generation: 7 });
  const registry = registryWith();
  const says = { speaks: true, isBroken: false };
  const publish: typeof context.bus.publish = (...args) => {
    if (says.isBroken) throw new ServingError("bus_unavailable");
    context.bus.publish(...args);
  };
  const bus = Object.assign(Object.create(context.bus) as typeof context.bus, { publish });
  const publisher = new CatalogPublisher({
    context: { ...context, bus },
    namespace: "test",
    registry,
    speaks: () => says.speaks,
    onPublished: () => undefined,
  });
  const marks = () => heard.map(({ revision, workers }) => [revision, workers.length]);
  return { cluster, registry, publisher, says, marks };
}

describe("CatalogPublisher", () => {
  it("publishes nothing while nothing has changed", async () => {
    const { cluster, publisher, marks } = setUp();

    publisher.touch();
    await cluster.clock.advanceBy(100);

    expect(marks()).toEqual([]);
    expect(publisher.mark).toEqual({ epoch: 7, revision: 0, complete: false });
  });

  it("sends the changes of 5 ms as one revision", async () => {
    const { cluster, registry, publisher, marks } = setUp();
    registry.register(registrationWith("p1"), 0);
    publisher.touch();
    await cluster.clock.advanceBy(4);
    registry.register(registrationWith("p2"), 0);
    publisher.touch();
    await cluster.clock.advanceBy(3);
    registry.register(registrationWith("p3"), 0);
    publisher.touch();
    await cluster.clock.advanceBy(20);

    expect(marks()).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });

  it("publishes a change before it answers with it", async () => {
    const { cluster, registry, publisher, marks } = setUp();
    registry.register(registrationWith("p1"), 0);

    const answer = Catalog.decode(publisher.current());
    await cluster.clock.advanceBy(1);

    expect(answer).toMatchObject({ epoch: 7, revision: 1 });
    expect(marks()).toEqual([[1, 1]]);
    expect(Catalog.decode(publisher.current()).revision).toBe(1);
  });

  it("answers before anything has changed, too", () => {
    const { publisher } = setUp();

    expect(Catalog.decode(publisher.current())).toMatchObject({ revision: 1, complete: false });
  });

  it("says nothing while another one speaks, and all at once when it may", async () => {
    const { cluster, registry, publisher, says, marks } = setUp();
    says.speaks = false;
    registry.register(registrationWith("p1"), 0);
    publisher.touch();
    await cluster.clock.advanceBy(100);
    expect(marks()).toEqual([]);

    says.speaks = true;
    publisher.republish();
    await cluster.clock.advanceBy(20);

    expect(marks()).toEqual([[1, 1]]);
  });

  it("counts a revision that the bus did not take, and sends it again when told to", async () => {
    const { cluster, registry, publisher, says, marks } = setUp();
    says.isBroken = true;
    registry.register(registrationWith("p1"), 0);
    publisher.flush();
    expect(publisher.mark.revision).toBe(1);

    says.isBroken = false;
    publisher.republish();
    await cluster.clock.advanceBy(20);

    expect(marks()).toEqual([[1, 1]]);
  });
});
