import { describe, expect, it } from "vitest";
import { PromptOverlaps } from "../../src/core/prompt-overlaps.ts";
import { createRadixTree, type PredictedIndex, type PrefixIndex } from "../../src/index.ts";
import { hashesOf } from "./core-support.ts";

function indexOf(...runs: readonly ["device" | "host" | "disk", number, string, number][]) {
  const index = createRadixTree();
  for (const [tier, rank, text, from] of runs) {
    const hashes = hashesOf(text);
    const parent = from === 0 ? null : hashes.subarray(8 * (from - 1), 8 * from);
    index.store(rank, tier, parent, hashes.subarray(8 * from));
  }
  return index;
}

const predictedOf = (rank: number, blocks: number): PredictedIndex => ({
  size: blocks,
  record: () => undefined,
  find: (_, overlaps) => {
    overlaps.device = new Uint32Array(rank + 1);
    overlaps.device[rank] = blocks;
    overlaps.length = rank + 1;
  },
  removeRank: () => undefined,
  sweep: () => undefined,
});

function overlapOf(
  index: PrefixIndex | null,
  predicted: PredictedIndex | null,
  [indexSlot, loadSlot]: [number, number],
) {
  const overlaps = new PromptOverlaps(index, predicted);
  const fields = { overlapBlocks: 9, hostOverlapBlocks: 9, diskOverlapBlocks: 9 };
  overlaps.look(hashesOf("abcdefgh"), 0);
  overlaps.write(fields, indexSlot, loadSlot);
  return [fields.overlapBlocks, fields.hostOverlapBlocks, fields.diskOverlapBlocks];
}

const tiered = () =>
  indexOf(["device", 4, "ab", 0], ["host", 4, "abcd", 2], ["disk", 4, "abcde", 4]);

it("are what the index says of the rank, by tier", () => {
  expect(overlapOf(tiered(), null, [4, 0])).toEqual([2, 2, 1]);
  expect(overlapOf(tiered(), null, [3, 0])).toEqual([0, 0, 0]);
});

it("are nothing of a rank that the index does not know", () => {
  expect(overlapOf(tiered(), null, [-1, 4])).toEqual([0, 0, 0]);
  expect(overlapOf(tiered(), null, [400, 4])).toEqual([0, 0, 0]);
  expect(overlapOf(null, null, [4, 4])).toEqual([0, 0, 0]);
});

describe("with a prediction", () => {
  it("are the longer of the two on the device", () => {
    expect(overlapOf(null, predictedOf(7, 3), [-1, 7])).toEqual([3, 0, 0]);
    expect(overlapOf(tiered(), predictedOf(7, 1), [4, 7])).toEqual([2, 2, 1]);
    expect(overlapOf(tiered(), predictedOf(7, 8), [4, 6])).toEqual([2, 2, 1]);
  });

  it("leave to the other tiers what goes on from there", () => {
    expect(overlapOf(tiered(), predictedOf(7, 3), [4, 7])).toEqual([3, 1, 1]);
    expect(overlapOf(tiered(), predictedOf(7, 4), [4, 7])).toEqual([4, 0, 1]);
    expect(overlapOf(tiered(), predictedOf(7, 8), [4, 7])).toEqual([8, 0, 0]);
  });
});

it("are nothing when nobody looked", () => {
  const overlaps = new PromptOverlaps(tiered(), predictedOf(4, 5));
  const fields = { overlapBlocks: 9, hostOverlapBlocks: 9, diskOverlapBlocks: 9 };
  overlaps.look(hashesOf("ab"), 0);
  overlaps.lookAway();
  overlaps.write(fields, 4, 4);

  expect(fields).toEqual({ overlapBlocks: 0, hostOverlapBlocks: 0, diskOverlapBlocks: 0 });
});
