import type { ModelCard } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { conflictsOf } from "../../src/registry/ownership.ts";
import { makeEntry, type RegistryEntry } from "../../src/registry/registry-entry.ts";
import { registrationWith } from "../support/builders.ts";

const rules = { lostOwnsMs: 1_000, waitingClaimMs: 500 };

function entry(
  id: string,
  card: Partial<ModelCard>,
  fields: Partial<RegistryEntry> = {},
): RegistryEntry {
  return { ...makeEntry(registrationWith(id, card), 0, 900), ...fields };
}

const fieldsAgainst = (one: RegistryEntry, others: readonly RegistryEntry[], nowMs = 0) =>
  conflictsOf(one, new Set([one, ...others]), rules, nowMs).map(({ field }) => field);

describe("conflictsOf", () => {
  it("lets the first worker in, and those like the ones that serve", () => {
    const first = entry("p1", {});
    const live = entry("p2", {}, { state: "live" });

    expect(fieldsAgainst(first, [])).toEqual([]);
    expect(fieldsAgainst(first, [live])).toEqual([]);
  });

  it("holds a newcomer against live, draining and freshly lost workers of its set", () => {
    const newcomer = entry("p1", { engine: "llama" });

    expect(fieldsAgainst(newcomer, [entry("p2", {}, { state: "live" })])).toEqual(["engine"]);
    expect(fieldsAgainst(newcomer, [entry("p2", {}, { state: "draining" })])).toEqual(["engine"]);
    const lost = entry("p2", {}, { state: "lost", lostAtMs: 100 });
    expect(fieldsAgainst(newcomer, [lost], 1_099)).toEqual(["engine"]);
    expect(fieldsAgainst(newcomer, [lost], 1_100)).toEqual([]);
  });

  it("holds it against other sets of its model by hashes and tokens only", () => {
    const decode = entry("d1", { engine: "llama", hashSalt: "x" }, { state: "live" });

    expect(fieldsAgainst(entry("p1", {}), [decode])).toEqual(["hashSalt"]);
    expect(fieldsAgainst(entry("p1", { hashSalt: "x" }), [decode])).toEqual([]);
  });

  it("holds it against one that waits longer, if that one could have the place and still asks", () => {
    const newcomer = entry("p1", { blockSize: 16 }, { refusedAtMs: 200 });
    const waiting = entry("p2", { blockSize: 32 }, { refusedAtMs: 100, askedAtMs: 150 });
    const owner = entry("d1", { blockSize: 16 }, { state: "live" });

    expect(fieldsAgainst(newcomer, [waiting], 300)).toEqual(["blockSize"]);
    expect(fieldsAgainst(newcomer, [waiting], 650)).toEqual([]);
    expect(fieldsAgainst(newcomer, [waiting, owner], 300)).toEqual([]);
    expect(fieldsAgainst(waiting, [newcomer], 300)).toEqual([]);
  });
});
