import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BpeModelBuild } from "../../src/bpe/build-bpe-model.ts";
import { IdBuffer } from "../../src/bpe/id-buffer.ts";
import { copyUnits } from "../../src/encode/text-units.ts";
import { smallArtifact } from "../support/small-artifact.ts";

function makeModel(ignoreMerges = false) {
  const build = new BpeModelBuild(smallArtifact({ ignoreMerges }));
  build.step(Number.POSITIVE_INFINITY);
  return build.finish();
}

function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  copyUnits(text, 0, text.length, units, 0);
  return units;
}

describe("a long word", () => {
  it("becomes the ids of merging it at once, in steps of any size", () => {
    const model = makeModel();
    const words = fc.string({ unit: fc.constantFrom("a", "b", "c", " ", "é", "字", "😀") });
    fc.assert(
      fc.property(words, fc.integer({ min: 1, max: 20 }), (word, pairs) => {
        const units = unitsOf(`x${word}`);
        const out = new IdBuffer(16);
        const long = model.startLongWord(units, 1, units.length);
        while (long?.step(pairs, out) === false) {
          // Steps until all ids are there.
        }
        const atOnce = new IdBuffer(16);
        model.encodeWord(units, 1, units.length, atOnce);
        expect(out.toArray()).toEqual(atOnce.toArray());
      }),
    );
  });

  it("is left to be encoded at once where it may be a token", () => {
    expect(makeModel(true).startLongWord(unitsOf("abc"), 0, 3)).toBeUndefined();
    expect(makeModel(true).startLongWord(unitsOf("abcdefgh"), 0, 8)).toBeDefined();
  });
});
