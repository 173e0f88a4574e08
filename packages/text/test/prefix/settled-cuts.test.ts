import { describe, expect, it } from "vitest";
import { copyUnits } from "../../src/encode/text-units.ts";
import {
  createTokenizer,
  type PreTokenizerFamily,
  type TokenizerArtifact,
} from "../../src/index.ts";
import { settledCutsOf } from "../../src/prefix/settled-cuts.ts";
import { preTokenizerFamilies } from "../../src/scan/split-rules.ts";
import { fuzzTexts, seededNumbers } from "../support/fuzz-text.ts";
import { smallArtifact } from "../support/small-artifact.ts";
import { readMakeModelArtifact } from "../support/tokenizer-json.ts";

function allCuts(artifact: TokenizerArtifact, text: string): number[] {
  const cuts = settledCutsOf(artifact);
  const units = new Uint16Array(text.length);
  copyUnits(text, 0, text.length, units, 0);
  const found: number[] = [];
  for (let to = units.length; ; to = found[0] ?? 0) {
    const at = cuts?.last(units, 0, to) ?? -1;
    if (at < 0) return found;
    found.unshift(at);
  }
}

function added(...contents: string[]): Partial<TokenizerArtifact> {
  return {
    addedTokens: contents.map((content, id) => ({
      id,
      content,
      special: false,
      normalized: false,
    })),
  };
}

function withFamily(family: PreTokenizerFamily, normalizer: "none" | "nfc"): TokenizerArtifact {
  const artifact = readMakeModelArtifact();
  return { ...artifact, normalizer, preTokenizer: { kind: "family", family } };
}

describe("settled cuts", () => {
  it("are between a letter and what never goes on after one", () => {
    expect(allCuts(smallArtifact(), "ab cd\ne1 2 f, 'g 字。")).toEqual([2, 5, 12, 16, 18]);
  });

  it("are not where an added token may stand", () => {
    const artifact = smallArtifact(added("b c", "x,"));
    expect(allCuts(artifact, "ab cd, e\n")).toEqual([8]);
    expect(settledCutsOf(smallArtifact(added("a b,b\nb.b;b:b!b?b(b)b，b。b、b；b：b！b？")))).toBe(
      undefined,
    );
  });

  it("are not after letters that normalization changes", () => {
    const artifact = smallArtifact({ normalizer: "nfc" });
    expect(allCuts(artifact, "\u0958 か がx \u212b, e\u0301 ")).toEqual([3, 6]);
  });

  it("are unknown for words that are cut by rules", () => {
    const rules = [{ kind: "pattern", source: "\\p{L}+ " }] as const;
    expect(settledCutsOf(smallArtifact({ preTokenizer: { kind: "rules", rules } }))).toBe(
      undefined,
    );
  });

  it.each(
    preTokenizerFamilies.flatMap((family) => [
      { family, normalizer: "none" as const },
      { family, normalizer: "nfc" as const },
    ]),
  )(
    "leave both parts their ids, for $family words and form $normalizer",
    ({ family, normalizer }) => {
      const artifact = withFamily(family, normalizer);
      const tokenizer = createTokenizer(artifact);
      const next = seededNumbers(7);
      let seen = 0;
      for (const text of fuzzTexts(120, 31)) {
        for (const cut of allCuts(artifact, text)) {
          const other = text.slice(0, cut + 1) + text.slice(next() % text.length);
          for (const whole of [text, other]) {
            const parts = [whole.slice(0, cut), whole.slice(cut)].flatMap((part) => [
              ...tokenizer.encode(part),
            ]);
            expect(parts.join()).toBe(tokenizer.encode(whole).join());
          }
          seen += 1;
        }
      }
      expect(seen).toBeGreaterThan(40);
    },
  );
});
