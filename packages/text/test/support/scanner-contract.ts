import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PreTokenizerFamily } from "../../src/index.ts";
import { compileRules, makeRuleScanner } from "../../src/scan/rule-scanner.ts";
import type { WordScanner } from "../../src/scan/scan-runs.ts";
import { splitRulesOf } from "../../src/scan/split-rules.ts";
import { visitCategoryRuns } from "../../src/unicode/unicode-ranges.ts";
import { cutWords } from "./cut-words.ts";
import { fuzzTexts } from "./fuzz-text.ts";
import { readReferenceVectors } from "./reference-vectors.ts";

/** What every scanner must do: cut as the reference library does, and as its family's rules do. */
export function scannerContract(family: PreTokenizerFamily, scan: WordScanner): void {
  const rules = compileRules(splitRulesOf(family));
  const byRules = (text: string) => cutWords(makeRuleScanner(rules), text);

  describe(`${family} words`, () => {
    it("are those of the reference library", () => {
      const vectors = readReferenceVectors(`splits-${family}`);
      expect(vectors).toHaveLength(250);
      for (const [text, lengths] of vectors) {
        const found = cutWords(scan, text).map((word) => Buffer.byteLength(word));
        expect({ text, lengths: found }).toEqual({ text, lengths });
      }
    });

    it("are those of the rules, for fuzz strings", () => {
      for (const text of fuzzTexts(500, 99)) {
        expect(cutWords(scan, text)).toEqual(byRules(text));
      }
    });

    it("are those of the rules, around the first and last code point of every run of a category", () => {
      const codePoints: number[] = [];
      visitCategoryRuns((_, range) => codePoints.push(range.first, range.last));
      expect(codePoints.length).toBeGreaterThan(6000);
      // Several in one text: each call pays for the rules' regular expressions.
      for (let at = 0; at < codePoints.length; at += 16) {
        const some = codePoints.slice(at, at + 16);
        const text = some.map((codePoint) => around(String.fromCodePoint(codePoint))).join("");
        const words = cutWords(scan, text);
        if (words.join("\u0000") !== byRules(text).join("\u0000")) {
          expect({ some, words }).toEqual({ some, words: byRules(text) });
        }
      }
    });

    it("are those of the rules, for any text", () => {
      fc.assert(
        fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
          expect(cutWords(scan, text)).toEqual(byRules(text));
        }),
      );
    });
  });
}

function around(c: string): string {
  return `a${c}b ${c} 1${c}${c}2 '${c}s\n${c}A${c}\u0301.${c}`;
}
