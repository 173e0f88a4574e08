import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BlockId, BlockTable, hottest } from "../../src/prefix-index/block-table.ts";

const step = fc.record({
  low: fc.nat({ max: 40 }),
  high: fc.nat({ max: 2 }),
  guess: fc.nat({ max: 130 }),
});

describe("the table of blocks", () => {
  it("finds what a map finds, whatever comes and goes, and whatever the guess", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const table = new BlockTable();
        const model = new Map<string, BlockId>();
        for (const { low, high, guess } of steps) {
          const key = `${low} ${high}`;
          const known = model.get(key) ?? 0;
          expect(table.find(low, high, guess)).toBe(known);
          if (known === 0) {
            model.set(key, table.add(low, high, 0));
          } else {
            expect(table.delete(known)).toBe(0);
            expect(table.isFree(known)).toBe(true);
            model.delete(key);
          }
          expect(table.size).toBe(model.size);
        }
        for (const [key, id] of model) {
          expect(`${table.lowOf(id)} ${table.highOf(id)}`).toBe(key);
          expect(table.find(table.lowOf(id), table.highOf(id), 0)).toBe(id);
        }
      }),
    );
  });

  it("grows page by page, and uses room that is free again", () => {
    const table = new BlockTable();
    const ids = Array.from({ length: 20_000 }, (_, at) => table.add(at, -at, 0));
    expect(ids.every((id, at) => table.find(at, -at, 0) === id)).toBe(true);
    const { bytes } = table;

    for (const id of ids.slice(0, 15_000)) table.delete(id);
    for (let at = 0; at < 15_000; at += 1) table.add(at, 7, 0);

    expect(table.highest).toBe(20_000);
    expect(table.bytes).toBeLessThan(bytes * 1.3);
    expect(bytes / 20_000).toBeLessThan(45);
    expect(ids.every((id, at) => table.find(at, -at, 0) === (at < 15_000 ? 0 : id))).toBe(true);
  });

  it("knows a block's children by number, and the only one by name", () => {
    const table = new BlockTable();
    const root = table.add(1, 0, 0);
    const first = table.add(2, 0, root);
    expect([table.childCountOf(root), table.onlyChildOf(root)]).toEqual([1, first]);
    const second = table.add(3, 0, root);
    table.markBranched(root);
    const leaf = table.add(4, 0, second);
    expect([root, first, second, leaf].map((id) => table.depthOf(id))).toEqual([0, 1, 1, 2]);

    expect(table.delete(first)).toBe(root);

    expect([table.childCountOf(root), table.onlyChildOf(root)]).toEqual([1, second]);
    expect(table.isBranched(root)).toBe(true);
    table.delete(leaf);
    table.delete(second);
    expect(table.childCountOf(root)).toBe(0);
    expect(table.isBranched(root)).toBe(false);
  });

  it("links a block later", () => {
    const table = new BlockTable();
    const root = table.add(1, 0, 0);
    const below = table.add(2, 0, root);
    const late = table.add(3, 0, 0);

    table.link(late, below);

    expect(table.parentOf(late)).toBe(below);
    expect(table.depthOf(late)).toBe(2);
  });

  it("keeps marks apart", () => {
    const table = new BlockTable();
    const id = table.add(1, 0, table.add(9, 0, 0));
    table.putRecency(id, hottest);
    table.markCopies(id);
    table.putSet(id, 77);
    table.putDepth(id, 100_000);
    table.putRecency(id, 1);

    expect(table.recencyOf(id)).toBe(1);
    expect(table.mayHaveCopies(id)).toBe(true);
    expect(table.isBranched(id)).toBe(false);
    expect(table.depthOf(id)).toBe(100_000);
    expect(table.setOf(id)).toBe(77);
  });
});
