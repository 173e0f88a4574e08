import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LongNfcPiece } from "../../src/encode/long-nfc-piece.ts";
import { visitCategoryRuns } from "../../src/unicode/unicode-ranges.ts";

const marks: string[] = [];
visitCategoryRuns((category, { first, last }) => {
  for (let codePoint = first; category.startsWith("M") && codePoint <= last; codePoint += 1) {
    marks.push(String.fromCodePoint(codePoint));
  }
});

/** Piece after piece, to the end. */
function normalize(text: string): { readonly text: string; readonly pieces: number } {
  const out: string[] = [];
  let pieces = 0;
  for (let at = 0; at < text.length; pieces += 1) {
    const piece = new LongNfcPiece(text, at, out);
    while (!piece.step()) {
      // Some thousand code points a step.
    }
    at = piece.at;
  }
  return { text: out.join(""), pieces };
}

describe("a long piece of text", () => {
  it("is in normalization form C, whatever stands in it and however often", () => {
    const letter = fc.constantFrom(
      ..."eoaA\u1100\u1161\u11a8\u0dd9\u0dcf\u0e31\u09c7\u09be\u212b가字",
    );
    const anywhere = fc.oneof(fc.constantFrom(...marks), letter);
    // Many runs of one mark, with what composes between them.
    const fewMarks = fc.constantFrom(..."\u0300\u0302\u0323\u0344\u09bee\u00ea\u1ec7\u{1112e}");
    const times = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 14, max: 40 }));
    const runs = fc.oneof(
      fc.array(fc.tuple(anywhere, times), { maxLength: 40 }),
      fc.array(fc.tuple(fewMarks, times), { maxLength: 6 }),
    );
    fc.assert(
      fc.property(runs, (drawn) => {
        const text = drawn.map(([character, count]) => character.repeat(count)).join("");
        expect(normalize(text).text).toBe(text.normalize("NFC"));
      }),
      {
        numRuns: 1000,
        examples: [
          [
            [
              ["\u0300", 14],
              ["\u{1112e}", 1],
              ["\u0300", 17],
            ],
          ],
        ],
      },
    );
  });

  it("ends where nothing combines with what stands before", () => {
    expect(normalize("\u0e31".repeat(40_000)).pieces).toBe(3);
    expect(normalize(`e${"\u0301".repeat(40)}e${"\u0301".repeat(40)}`).pieces).toBe(2);
    expect(normalize("\u1100\u1161\u11a8".repeat(3)).pieces).toBe(1);
  });
});
