import { expect, it } from "vitest";
import { BlockIndex } from "../src/block-index.ts";

it("finds a block by both words of its hash", () => {
  const index = new BlockIndex(4);
  index.insert(2, 7, 8);

  expect([index.find(7, 8), index.find(7, 9), index.find(6, 8)]).toEqual([2, -1, -1]);
});

it("finds nothing after it is cleared", () => {
  const index = new BlockIndex(1);
  index.insert(0, 1, 1);
  index.clear();

  expect(index.find(1, 1)).toBe(-1);
});
