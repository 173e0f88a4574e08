import { describe, expect, it } from "vitest";
import {
  modelConflicts,
  modelPrint,
  setConflicts,
  setPrint,
} from "../../src/registry/card-fingerprint.ts";
import { registrationWith } from "../support/builders.ts";

describe("setConflicts", () => {
  it("names each field that differs, with both values", () => {
    const serving = registrationWith("p1");
    const offered = registrationWith(
      "p2",
      { blockSize: 16, hashSalt: "s", engine: "llama", contextLength: 8_192, capabilities: ["n"] },
      { needs: [] },
    );

    expect(setConflicts(serving, offered)).toEqual([
      { field: "blockSize", serving: "64", offered: "16" },
      { field: "hashSalt", serving: "", offered: "s" },
      { field: "contextLength", serving: "4096", offered: "8192" },
      { field: "engine", serving: "mock", offered: "llama" },
      { field: "capabilities", serving: '["n","seed"]', offered: '["n"]' },
      { field: "needs", serving: '[["decode"]]', offered: "[]" },
    ]);
  });

  it("names the entries of a descriptor that differ", () => {
    const serving = registrationWith("p1", { descriptor: { kvType: "f16", layers: 30 } });
    const offered = registrationWith("p2", { descriptor: { kvType: "q8", build: "b1" } });

    expect(setConflicts(serving, offered)).toEqual([
      { field: "descriptor.build", serving: "absent", offered: "b1" },
      { field: "descriptor.kvType", serving: "f16", offered: "q8" },
      { field: "descriptor.layers", serving: "30", offered: "absent" },
    ]);
    const without = registrationWith("p3", { descriptor: null });
    expect(setConflicts(serving, without)).toMatchObject([
      { field: "descriptor", offered: "null" },
    ]);
  });

  it("does not look at what is each worker's own, nor at order", () => {
    const serving = registrationWith("p1", { descriptor: { a: 1, b: 2 } });
    const offered = registrationWith(
      "p2",
      {
        capabilities: ["n", "seed"],
        modelType: ["completions", "chat"],
        descriptor: { b: 2, a: 1 },
        routerConfig: { mode: "random" },
      },
      { taints: ["slow"], topology: { rack: "r1" }, host: "other", generation: 7 },
    );

    expect(setConflicts(serving, offered)).toEqual([]);
    expect(setPrint(serving)).toBe(setPrint(offered));
  });
});

describe("modelConflicts", () => {
  it("asks workers of different sets to agree on hashes and tokens only", () => {
    const serving = registrationWith("p1");
    const other = registrationWith("d1", { engine: "llama", contextLength: 1 });
    const wrong = registrationWith("d2", { tokenizerChecksum: "bb" });

    expect(modelConflicts(serving, other)).toEqual([]);
    expect(modelPrint(serving)).toBe(modelPrint(other));
    expect(modelConflicts(serving, wrong)).toEqual([
      { field: "tokenizerChecksum", serving: "aa", offered: "bb" },
    ]);
    expect(modelPrint(serving)).not.toBe(modelPrint(wrong));
  });
});
