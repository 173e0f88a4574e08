import fc from "fast-check";
import { expect, it } from "vitest";
import { BlockIndex } from "../src/block-index.ts";

it("answers as a map from hash to block does, hashes that share a word included", () => {
  const word = fc.constantFrom(0, 1, 2, 0x80000000, 0xffffffff);
  const step = fc.tuple(fc.boolean(), word, word);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const index = new BlockIndex(32);
      const model = new Map<string, number>();
      const free = Array.from({ length: 32 }, (_, id) => id);
      for (const [adds, low, high] of steps) {
        const key = `${low}/${high}`;
        const present = model.get(key);
        if (adds && present === undefined) {
          const id = free.pop()!;
          index.insert(id, low, high);
          model.set(key, id);
          expect([index.lowOf(id), index.highOf(id)]).toEqual([low, high]);
        } else if (!adds && present !== undefined) {
          index.remove(present);
          model.delete(key);
          free.push(present);
        }
        expect(index.find(low, high)).toBe(model.get(key) ?? -1);
      }
    }),
  );
});
