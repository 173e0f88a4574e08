import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeShortWord, mostLinearSymbols } from "../../src/bpe/merge-short-word.ts";
import { mergeTables, naiveMerge } from "../support/naive-merge.ts";

describe("mergeShortWord", () => {
  it("merges as the definition says", () => {
    fc.assert(
      fc.property(
        mergeTables,
        fc.array(fc.nat(3), { maxLength: mostLinearSymbols }),
        (merges, word) => {
          const symbols = new Int32Array(mostLinearSymbols + 1);
          symbols.set(word);
          const count = mergeShortWord(merges, symbols, word.length);
          expect([...symbols.subarray(0, count)]).toEqual(naiveMerge(merges, word));
        },
      ),
    );
  });
});
