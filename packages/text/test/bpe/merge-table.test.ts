import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MergeTable } from "../../src/bpe/merge-table.ts";

describe("MergeTable", () => {
  it("finds what a map finds", () => {
    const id = fc.nat(30);
    fc.assert(
      fc.property(fc.array(fc.tuple(id, id)), fc.array(fc.tuple(id, id)), (pairs, wanted) => {
        const table = new MergeTable(pairs.length);
        const model = new Map<string, number>();
        for (const [rank, [left, right]] of pairs.entries()) {
          table.insert(left, right, rank, rank + 500);
          if (!model.has(`${left} ${right}`)) {
            model.set(`${left} ${right}`, rank);
          }
        }
        for (const [left, right] of [...pairs, ...wanted]) {
          const place = table.find(left, right);
          const rank = place < 0 ? undefined : table.rankAt(place);
          expect(rank).toBe(model.get(`${left} ${right}`));
          expect(place < 0 ? undefined : table.idAt(place)).toBe(
            rank === undefined ? undefined : rank + 500,
          );
        }
      }),
    );
  });
});
