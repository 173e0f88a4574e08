import { describe, expect, it } from "vitest";
import { activationTarget } from "../../src/index.ts";
import { workerSet } from "../support.ts";

describe("activationTarget", () => {
  const prefill = workerSet("prefill", { set: "p" });
  const decode = workerSet("decode");

  it("is the prefill set when it and one decode set live, in any order", () => {
    const target = { kind: "target", key: "p", prefill, decode };

    expect(activationTarget([prefill, decode])).toEqual(target);
    expect(activationTarget([decode, prefill])).toEqual(target);
  });

  it("does not count workers of a set, aggregated sets, or sets without a live worker", () => {
    const crowd = workerSet("prefill", { set: "p", live: 9 });
    const dead = workerSet("prefill", { set: "old", live: 0 });

    expect(activationTarget([crowd, decode, dead, workerSet("aggregated")])).toMatchObject({
      kind: "target",
      key: "p",
    });
  });

  it.each([
    { sets: [], prefillSets: 0, decodeSets: 0 },
    { sets: [prefill], prefillSets: 1, decodeSets: 0 },
    { sets: [decode], prefillSets: 0, decodeSets: 1 },
    { sets: [prefill, workerSet("prefill"), decode], prefillSets: 2, decodeSets: 1 },
    { sets: [prefill, decode, workerSet("decode", { set: "d2" })], prefillSets: 1, decodeSets: 2 },
    { sets: [prefill, workerSet("decode", { live: 0 })], prefillSets: 1, decodeSets: 0 },
  ])("is none with $prefillSets prefill and $decodeSets decode sets", ({ sets, ...counts }) => {
    expect(activationTarget(sets)).toEqual({ kind: "none", ...counts });
  });
});
