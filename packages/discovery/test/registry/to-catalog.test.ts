import { Catalog } from "@baton/protocol";
import { testModel } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { toCatalog } from "../../src/registry/to-catalog.ts";
import { registrationWith, registryWith } from "../support/builders.ts";

describe("toCatalog", () => {
  it("lists workers and models so that the message takes it", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);
    registry.register(registrationWith("d1"), 0);
    registry.register(registrationWith("d2", { blockSize: 16 }), 0);
    registry.register(registrationWith("a1", { model: "solo" }), 0);

    const mark = { namespace: "test", epoch: 9, revision: 3, complete: true };
    const catalog = Catalog.decode(Catalog.encode(toCatalog(registry, mark)));

    expect(catalog).toMatchObject(mark);
    expect(catalog.workers.map(({ registration, state }) => [registration.id, state])).toEqual([
      ["p1", "live"],
      ["d1", "live"],
      ["d2", "refused"],
      ["a1", "live"],
    ]);
    expect(catalog.models.map(({ model, ready }) => [model, ready])).toEqual([
      [testModel, true],
      ["solo", true],
    ]);
  });

  it("names the card conflict when only refused workers could fill a role", () => {
    const registry = registryWith();
    registry.register(registrationWith("p1"), 0);
    registry.register(registrationWith("d2", { blockSize: 16 }), 0);

    const mark = { namespace: "test", epoch: 9, revision: 3, complete: true };

    expect(toCatalog(registry, mark).models[0]).toMatchObject({
      ready: false,
      why: { code: "card_conflict" },
    });
  });
});
