import { describe, expect, it } from "vitest";
import {
  categoryRanges,
  visitCategoryRuns,
  whiteSpaceRanges,
} from "../../src/unicode/unicode-ranges.ts";

function holds(name: string, character: string): boolean {
  const codePoint = character.codePointAt(0) ?? 0;
  return (
    categoryRanges(name)?.some(({ first, last }) => first <= codePoint && codePoint <= last) ??
    false
  );
}

describe("the general categories", () => {
  it("cover every code point once, in order", () => {
    let next = 0;
    visitCategoryRuns((_, range) => {
      expect(range.first).toBe(next);
      next = range.last + 1;
    });
    expect(next).toBe(0x110000);
  });

  it.each([
    ["Lu", "A"],
    ["Ll", "ß"],
    ["Lt", "ǅ"],
    ["Lm", "ʰ"],
    ["Lo", "字"],
    ["Mn", "\u0301"],
    ["Nd", "٣"],
    ["Nl", "Ⅷ"],
    ["No", "½"],
    ["Zs", "\u00a0"],
    ["So", "😀"],
    ["Cf", "\u200d"],
    ["Cs", "\ud800"],
    ["Cn", "\u0378"],
  ])("%s holds %j", (name, character) => {
    expect(holds(name, character)).toBe(true);
    expect(holds(name[0] ?? "", character)).toBe(true);
    expect(holds(name === "Sk" ? "L" : "Sk", character)).toBe(false);
  });

  it("are those of Unicode 16, not of the running engine", () => {
    expect(holds("L", "\u{10d50}")).toBe(true);
    expect(holds("Cn", "\u{10940}")).toBe(true);
  });

  it("agree with the running engine where Unicode has not changed", () => {
    const letter = /\p{L}/u;
    const ranges = categoryRanges("L") ?? [];
    for (let codePoint = 0; codePoint < 0x800; codePoint += 1) {
      const isLetter = ranges.some(({ first, last }) => first <= codePoint && codePoint <= last);
      expect([codePoint, isLetter]).toEqual([
        codePoint,
        letter.test(String.fromCodePoint(codePoint)),
      ]);
    }
  });

  it("have no other names", () => {
    expect(categoryRanges("Han")).toBeUndefined();
    expect(categoryRanges("")).toBeUndefined();
  });
});

describe("white space", () => {
  it("has U+0085 and not the byte order mark", () => {
    const is = (codePoint: number) =>
      whiteSpaceRanges.some(({ first, last }) => first <= codePoint && codePoint <= last);
    expect([is(0x85), is(0xfeff), is(0x200b), is(0x3000)]).toEqual([true, false, false, true]);
  });
});
