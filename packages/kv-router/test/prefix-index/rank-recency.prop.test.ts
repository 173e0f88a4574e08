import fc from "fast-check";
import { expect, it } from "vitest";
import { RankRecency } from "../../src/prefix-index/rank-recency.ts";

it("hands out the oldest first, as a map in order of use does", () => {
  const step = fc.record({ block: fc.nat({ max: 150 }), drop: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: "max" }), (steps) => {
      const recency = new RankRecency();
      const model = new Map<number, number>();
      for (const [at, { block, drop }] of steps.entries()) {
        if (drop && model.size > 0) {
          const [oldest, end] = [...model][0]!;
          expect([recency.oldestLow, recency.oldestHigh, recency.oldestEnd]).toEqual([
            oldest,
            7 - oldest,
            end,
          ]);
          recency.dropOldest();
          model.delete(oldest);
        } else {
          expect(recency.has(block, 7 - block)).toBe(model.has(block));
          recency.touch(block, 7 - block, at);
          model.delete(block);
          model.set(block, at);
        }
        expect(recency.size).toBe(model.size);
      }
      for (const [block, end] of model) {
        expect([recency.oldestLow, recency.oldestEnd]).toEqual([block, end]);
        recency.dropOldest();
      }
      expect(recency.size).toBe(0);
    }),
  );
});

it("tells blocks apart by either half of their hash", () => {
  const recency = new RankRecency();
  recency.touch(1, 2, 0);

  expect([recency.has(1, 2), recency.has(1, 3), recency.has(2, 2)]).toEqual([true, false, false]);
});
