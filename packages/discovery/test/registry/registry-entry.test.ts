import { describe, expect, it } from "vitest";
import { makeEntry, toCatalogWorker, updateEntry } from "../../src/registry/registry-entry.ts";
import { registrationWith } from "../support/builders.ts";

describe("RegistryEntry", () => {
  it("begins refused and unheard, with a lease to be heard in", () => {
    const entry = makeEntry(registrationWith("p1"), 100, 900);

    expect(entry).toMatchObject({
      state: "refused",
      unheard: true,
      unheardUntilMs: 1_000,
      refusedAtMs: 100,
      setKey: '["prefill","prefill"]',
    });
  });

  it("says whether another registration of it says anything else", () => {
    const entry = makeEntry(registrationWith("p1"), 0, 900);
    const { setPrint, modelPrint } = entry;

    expect(updateEntry(entry, registrationWith("p1"))).toBe(false);
    expect(updateEntry(entry, registrationWith("p1", {}, { taints: ["slow"] }))).toBe(true);
    expect([entry.setPrint, entry.modelPrint]).toEqual([setPrint, modelPrint]);
    expect(updateEntry(entry, registrationWith("p1", { engine: "llama" }))).toBe(true);
    expect(entry.setPrint).not.toBe(setPrint);
    expect(entry.modelPrint).toBe(modelPrint);
  });

  it("stands in a catalog without what is the registry's own", () => {
    const entry = makeEntry(registrationWith("p1"), 0, 900);
    entry.conflicts = [{ field: "engine", serving: "a", offered: "b" }];

    expect(toCatalogWorker(entry)).toEqual({
      registration: registrationWith("p1"),
      state: "refused",
      conflicts: [{ field: "engine", serving: "a", offered: "b" }],
    });
  });
});
