import { describe, expect, it } from "vitest";
import { PendingImport, simulatedKv } from "../src/handoff.ts";
import { Sequence } from "../src/sequence.ts";
import { requestOf, tokensFrom } from "./support/builders.ts";
import { groupOf } from "./support/sequences.ts";

function pendingOf(promptLength: number, cachedBlocks: number) {
  const request = requestOf({ promptTokens: tokensFrom(0, promptLength) });
  const sequence = new Sequence(groupOf(request, "decode"), 0, "queued");
  sequence.cachedTokens = cachedBlocks * 4;
  return new PendingImport(sequence, 4);
}

const prompt = tokensFrom(0, 10);

describe("simulatedKv", () => {
  it("is the token ids of the block, little-endian", () => {
    expect(simulatedKv(Uint32Array.of(1, 2, 0x01020304), 1, 2)).toEqual(Uint8Array.of(4, 3, 2, 1));
  });
});

describe("PendingImport", () => {
  it("misses the blocks behind the cached ones, a partial last one included", () => {
    const pending = pendingOf(10, 1);

    expect(pending.reservation).toMatchObject({ cachedBlocks: 1, totalBlocks: 3 });
    expect(pending.missing()).toEqual([1, 2]);
  });

  it("takes right blocks in any order, again too, from any place in memory", () => {
    const pending = pendingOf(10, 0);
    const shifted = new Uint8Array(17);
    shifted.set(simulatedKv(prompt, 1, 4), 1);

    expect(pending.import(2, simulatedKv(prompt, 2, 4))).toEqual({ kind: "imported" });
    expect(pending.import(1, shifted.subarray(1))).toEqual({ kind: "imported" });
    expect(pending.import(1, simulatedKv(prompt, 1, 4))).toEqual({ kind: "imported" });
    expect(pending.missing()).toEqual([0]);
  });

  it.each([
    ["content_mismatch", 1, simulatedKv(tokensFrom(1, 10), 1, 4)],
    ["length_mismatch", 2, simulatedKv(tokensFrom(0, 12), 2, 4)],
    ["not_missing", 0, simulatedKv(prompt, 0, 4)],
    ["not_missing", 3, new Uint8Array(0)],
    ["not_missing", -1, new Uint8Array(0)],
    ["not_missing", 1.5, new Uint8Array(16)],
  ] as const)("refuses %s at block %d and still misses what it missed", (reason, index, bytes) => {
    const pending = pendingOf(10, 1);

    expect(pending.import(index, bytes)).toEqual({ kind: "refused", reason });
    expect(pending.missing()).toEqual([1, 2]);
  });
});
