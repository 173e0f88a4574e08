import fc from "fast-check";
import { expect, it } from "vitest";
import { BlockIds, noBlock } from "../../src/load/block-ids.ts";

// Few low halves, so that hashes crowd around the same places and differ in the high half alone.
const hash = fc.record({
  low: fc.integer({ min: 0, max: 3 }),
  high: fc.integer({ min: 0, max: 900 }),
});
const steps = fc.array(fc.record({ adds: fc.boolean(), hash }), { maxLength: 2_000, size: "max" });

it("finds each hash that is held, and no other, however crowded", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const ids = new BlockIds();
      const held = new Map<string, number>();
      for (const { adds, hash: one } of taken) {
        const name = `${one.low} ${one.high}`;
        const id = held.get(name);
        expect(ids.find(one.low, one.high)).toBe(id ?? noBlock);
        if (id === undefined && adds) held.set(name, ids.add(one.low, one.high));
        if (id !== undefined && !adds) {
          ids.delete(id);
          held.delete(name);
        }
      }
      const wrong = [...held].filter(([name, id]) => {
        const [low = 0, high = 0] = name.split(" ").map(Number);
        return ids.find(low, high) !== id;
      });
      expect(wrong).toEqual([]);
      expect(ids.size).toBe(held.size);
      expect(new Set(held.values()).size).toBe(held.size);
    }),
    { numRuns: 8 },
  );
});

it("gives a number out again after its hash was deleted", () => {
  const ids = new BlockIds();
  const first = ids.add(1, 2);
  const second = ids.add(3, 4);
  ids.delete(first);

  expect(ids.add(0xffff_ffff, 0xffff_ffff)).toBe(first);
  expect(ids.find(0xffff_ffff, 0xffff_ffff)).toBe(first);
  expect(ids.find(3, 4)).toBe(second);
  expect(ids.find(1, 2)).toBe(noBlock);
});

it("keeps what it holds while it grows", () => {
  const ids = new BlockIds();
  const numbers = Array.from({ length: 5_000 }, (_, index) => ids.add(index, 7));

  expect(numbers.every((id, index) => ids.find(index, 7) === id)).toBe(true);
  expect(ids.size).toBe(5_000);
});
