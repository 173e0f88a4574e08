import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IdBuffer } from "../../src/bpe/id-buffer.ts";
import { LongWordMerge } from "../../src/bpe/long-word-merge.ts";
import { mergeTables, naiveMerge } from "../support/naive-merge.ts";

describe("LongWordMerge", () => {
  it("merges as the definition says, in steps of any size", () => {
    const words = fc.array(fc.nat(3), { maxLength: 200 });
    fc.assert(
      fc.property(mergeTables, words, fc.integer({ min: 1, max: 50 }), (merges, word, pairs) => {
        const merge = new LongWordMerge(merges, Int32Array.from([...word, 1, 2]), word.length);
        while (!merge.step(pairs)) {
          // Steps until nothing is left.
        }
        const out = new IdBuffer(16);
        while (!merge.write(pairs, out)) {
          // Steps until all is written.
        }
        expect([...out.toArray()]).toEqual(naiveMerge(merges, word));
      }),
    );
  });
});
