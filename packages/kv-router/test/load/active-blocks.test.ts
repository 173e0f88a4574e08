import { expect, it } from "vitest";
import { ActiveBlocks, fullWeight } from "../../src/load/active-blocks.ts";
import { hashesOf } from "../core/core-support.ts";

function blocksOf(ranks: number, holders: number): ActiveBlocks {
  const blocks = new ActiveBlocks();
  for (let rank = 0; rank < ranks; rank += 1) blocks.openRank(rank);
  for (let holder = 0; holder < holders; holder += 1) blocks.openHolder(holder);
  return blocks;
}

const halves = (text: string) => new Uint32Array(hashesOf(text).buffer);

it("holds nothing, shared or not, when every holder has left", () => {
  const blocks = blocksOf(40, 40);
  const added = Array.from({ length: 40 }, (_, index) =>
    blocks.add(index, index, halves("abcdefgh".slice(0, 1 + (index % 8)))),
  );
  expect([blocks.size, blocks.sharedSize > 0]).toEqual([8, true]);

  added.forEach((own, index) => {
    blocks.remove(index, index, own);
  });

  expect([blocks.size, blocks.sharedSize]).toEqual([0, 0]);
  expect(blocks.weightOf(3)).toBe(0);
});

it("goes from one rank to many and back to the last of them", () => {
  const blocks = blocksOf(3, 3);
  const added = [0, 1, 2].map((rank) => blocks.add(rank, rank, halves("ab")));
  blocks.remove(0, 0, added[0]!);
  blocks.remove(2, 2, added[2]!);

  expect(blocks.sharedSize).toBe(0);
  expect([...blocks.findActive(halves("ab")).subarray(0, 3)]).toEqual([0, 2, 0]);
});

it("gives a block that is no longer shared back to the holder that is left, at its weight", () => {
  const blocks = blocksOf(1, 2);
  blocks.add(0, 0, halves("ab"));
  const second = blocks.add(0, 1, halves("ab"));
  blocks.weigh(0, 0, fullWeight / 4);
  expect(blocks.weightOf(0)).toBe(2 * fullWeight);

  blocks.remove(0, 1, second);

  expect(blocks.weightOf(0)).toBe(fullWeight / 2);
});

it("survives a prompt that names a block twice", () => {
  const blocks = blocksOf(1, 1);
  const twice = new Uint32Array([...halves("a"), ...halves("a")]);
  const added = blocks.add(0, 0, twice);
  expect([blocks.size, blocks.weightOf(0)]).toEqual([1, fullWeight]);

  blocks.remove(0, 0, added);

  expect([blocks.size, blocks.weightOf(0)]).toEqual([0, 0]);
});
