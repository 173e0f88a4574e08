import { expect, it } from "vitest";
import { BlockList } from "../src/block-list.ts";

it("gives blocks in the order in which they came", () => {
  const list = new BlockList(4);
  list.push(2);
  list.push(0);
  list.push(3);

  expect(list.first).toBe(2);
  list.remove(2);
  expect(list.first).toBe(0);
});

it("takes a block from the middle and lets it come again at the end", () => {
  const list = new BlockList(3);
  for (const id of [0, 1, 2]) list.push(id);

  list.remove(1);
  list.push(1);
  list.remove(0);

  expect([list.first, list.size]).toEqual([2, 2]);
  list.remove(2);
  expect(list.first).toBe(1);
});

it("has no first block when it is empty", () => {
  const list = new BlockList(2);
  list.push(1);
  list.clear();

  expect([list.first, list.size]).toEqual([-1, 0]);
});
