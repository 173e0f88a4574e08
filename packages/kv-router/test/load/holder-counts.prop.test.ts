import fc from "fast-check";
import { expect, it } from "vitest";
import { HolderCounts } from "../../src/load/holder-counts.ts";

const steps = fc.array(
  fc.record({
    block: fc.integer({ min: 0, max: 400 }),
    rank: fc.integer({ min: 0, max: 3 }),
    count: fc.integer({ min: 0, max: 3 }),
    folded: fc.nat(),
  }),
  { maxLength: 2_500, size: "max" },
);

it("holds the pairs that a plain map would hold", () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const counts = new HolderCounts();
      const plain = new Map<string, { count: number; folded: number }>();
      for (const { block, rank, count, folded } of taken) {
        const name = `${block} ${rank}`;
        const place = counts.find(block, rank);
        expect(counts.countAt(place)).toBe(plain.get(name)?.count ?? 0);
        const isHeld = plain.has(name);
        if (count === 0 && isHeld) counts.delete(place);
        else if (count > 0 && isHeld) counts.set(place, count, folded);
        else if (count > 0) counts.put(block, rank, count, folded);
        if (count === 0) plain.delete(name);
        else plain.set(name, { count, folded });
      }
      for (const [name, { count, folded }] of plain) {
        const [block = 0, rank = 0] = name.split(" ").map(Number);
        const place = counts.find(block, rank);
        expect([counts.countAt(place), counts.foldedAt(place)]).toEqual([count, folded]);
      }
      expect(counts.size).toBe(plain.size);
    }),
    { numRuns: 8 },
  );
});
