import fc from "fast-check";
import { MergeTable } from "../../src/bpe/merge-table.ts";

/** Byte pair encoding as it is defined: look at all pairs, merge the lowest rank, begin again. */
export function naiveMerge(merges: MergeTable, symbols: readonly number[]): number[] {
  const left = [...symbols];
  for (;;) {
    let best = -1;
    let lowest = Number.POSITIVE_INFINITY;
    for (let at = 0; at + 1 < left.length; at += 1) {
      const place = merges.find(left[at] ?? -1, left[at + 1] ?? -1);
      if (place >= 0 && merges.rankAt(place) < lowest) {
        lowest = merges.rankAt(place);
        best = at;
      }
    }
    if (best < 0) {
      return left;
    }
    left.splice(best, 2, merges.idAt(merges.find(left[best] ?? -1, left[best + 1] ?? -1)));
  }
}

/** Random merges over the symbols 0 to 3; the result of the merge of rank r is the symbol r + 4. */
export const mergeTables: fc.Arbitrary<MergeTable> = fc
  .array(fc.tuple(fc.nat(40), fc.nat(40)), { minLength: 1, maxLength: 30 })
  .map((pairs) => {
    const table = new MergeTable(pairs.length);
    for (const [rank, [left, right]] of pairs.entries()) {
      table.insert(left % (rank + 4), right % (rank + 4), rank, rank + 4);
    }
    return table;
  });
