import type { CatalogWorker, WorkerType } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { gatherWorkerSets } from "../../src/index.ts";
import { bothNeeds, needsNobody, unmetNeeds } from "../../src/readiness/worker-sets.ts";

const catalogWorker = (
  workerType: WorkerType,
  facts: {
    set?: string;
    state?: CatalogWorker["state"];
    needs?: WorkerType[][];
    conflicts?: string[];
  } = {},
): CatalogWorker => ({
  state: facts.state ?? "live",
  conflicts: (facts.conflicts ?? []).map((field) => ({ field, serving: "16", offered: "32" })),
  registration: {
    id: "w",
    generation: 1,
    namespace: "default",
    workerType,
    set: facts.set ?? workerType,
    needs: facts.needs ?? [],
    card: {
      model: "m",
      modelType: ["chat"],
      engine: "mock",
      blockSize: 16,
      hashSalt: "",
      contextLength: 4_096,
      tokenizerChecksum: "",
      descriptor: null,
      capabilities: [],
    },
    capacity: { totalBlocks: 1, maxSequences: 1, maxBatchedTokens: 1, dpStartRank: 0, dpSize: 1 },
    topology: {},
    taints: [],
    kvTransfer: null,
    host: "h",
    pid: 1,
    admin: null,
  },
});

describe("gatherWorkerSets", () => {
  it("puts workers of one type and set together, in order", () => {
    const sets = gatherWorkerSets([
      catalogWorker("prefill", { set: "p2" }),
      catalogWorker("prefill", { set: "p1", needs: [["decode"]] }),
      catalogWorker("decode"),
      catalogWorker("prefill", { set: "p1", needs: [["decode"]] }),
    ]);

    expect(sets).toEqual([
      { workerType: "decode", set: "decode", live: 1, needs: [], conflicts: [] },
      { workerType: "prefill", set: "p1", live: 2, needs: [["decode"]], conflicts: [] },
      { workerType: "prefill", set: "p2", live: 1, needs: [], conflicts: [] },
    ]);
  });

  it("keeps a set without live workers and forgets what they needed", () => {
    const sets = gatherWorkerSets([
      catalogWorker("prefill", { state: "lost", needs: [["decode"]] }),
      catalogWorker("prefill", { state: "draining", needs: [["decode"]] }),
    ]);

    expect(sets).toEqual([
      { workerType: "prefill", set: "prefill", live: 0, needs: [], conflicts: [] },
    ]);
  });

  it("names each field once in which refused workers differ", () => {
    const refused = { state: "refused" as const };

    const [set] = gatherWorkerSets([
      catalogWorker("decode"),
      catalogWorker("decode", { ...refused, conflicts: ["hashSalt", "blockSize"] }),
      catalogWorker("decode", { ...refused, conflicts: ["blockSize"] }),
    ]);

    expect(set).toMatchObject({ live: 1, conflicts: ["blockSize", "hashSalt"] });
  });

  it("needs what any of its live workers needs", () => {
    const [set] = gatherWorkerSets([
      catalogWorker("decode", { needs: [] }),
      catalogWorker("decode", { needs: [["prefill"]] }),
    ]);

    expect(set?.needs).toEqual([["prefill"]]);
  });
});

describe("needs", () => {
  it("of both are met where each has an alternative met", () => {
    expect(bothNeeds([["prefill"], ["aggregated"]], [["decode"], ["prefill"]])).toEqual([
      ["prefill", "decode"],
      ["prefill"],
      ["aggregated", "decode"],
      ["aggregated", "prefill"],
    ]);
    expect(bothNeeds([], [["decode"]])).toEqual([["decode"]]);
    expect(bothNeeds([["decode"]], [])).toEqual([["decode"]]);
  });

  it("are of nobody when empty or with an empty alternative", () => {
    expect(needsNobody([])).toBe(true);
    expect(needsNobody([["prefill"], []])).toBe(true);
    expect(needsNobody([["prefill"]])).toBe(false);
  });

  it("that are unmet name every absent type of every alternative", () => {
    const needs: WorkerType[][] = [["prefill", "decode"], ["aggregated"]];

    expect(unmetNeeds(needs, new Set(["decode"]))).toEqual(["prefill", "aggregated"]);
    expect(unmetNeeds(needs, new Set(["aggregated"]))).toEqual([]);
    expect(unmetNeeds(needs, new Set(["prefill", "decode"]))).toEqual([]);
    expect(unmetNeeds([], new Set())).toEqual([]);
  });
});
