import { describe, expect, it } from "vitest";
import { copyUnits } from "../../src/encode/text-units.ts";
import {
  flagsAt,
  joinSurrogates,
  nextCodePoint,
  numbersEnd,
  runEnd,
  runEndWithout,
  skipOneSpace,
  symbolsOrWhiteSpaceEnd,
  whiteSpaceEnd,
} from "../../src/scan/scan-runs.ts";
import {
  characterFlags,
  letterFlag,
  notSymbolFlags,
  numberFlag,
} from "../../src/unicode/character-flags.ts";

const flags = characterFlags();

function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length);
  copyUnits(text, 0, text.length, units, 0);
  return units;
}

describe("runs of code points", () => {
  it("go across surrogate pairs", () => {
    const units = unitsOf("a𝒜b1");
    expect(runEnd(units, 0, 5, flags, letterFlag)).toBe(4);
    expect(runEndWithout(unitsOf("😀!a"), 0, 4, flags, letterFlag)).toBe(3);
    expect(flagsAt(units, 1, flags) & letterFlag).toBe(letterFlag);
    expect(nextCodePoint(units, 1)).toBe(3);
    expect(joinSurrogates(0xd83d, 0xde00)).toBe(0x1f600);
  });

  it("never look behind their end", () => {
    expect(runEnd(unitsOf("abcdef"), 0, 3, flags, letterFlag)).toBe(3);
    expect(runEndWithout(unitsOf("......"), 0, 3, flags, letterFlag)).toBe(3);
  });

  it("hold as many numbers as are allowed", () => {
    expect(numbersEnd(unitsOf("12345"), 0, 5, flags, 3)).toBe(3);
    expect(numbersEnd(unitsOf("𝟘𝟙a"), 0, 5, flags, 3)).toBe(4);
    expect(flagsAt(unitsOf("½"), 0, flags) & numberFlag).toBe(numberFlag);
  });
});

describe("white space", () => {
  it("leaves its last unit to the word behind it, but none at the end or alone", () => {
    expect(whiteSpaceEnd(unitsOf("   a"), 0, 4, flags)).toBe(2);
    expect(whiteSpaceEnd(unitsOf("   "), 0, 3, flags)).toBe(3);
    expect(whiteSpaceEnd(unitsOf("\ta"), 0, 2, flags)).toBe(1);
  });

  it("is skipped once before a word, unless nothing follows", () => {
    expect(skipOneSpace(unitsOf(" a"), 0, 2)).toBe(1);
    expect(skipOneSpace(unitsOf(" a"), 0, 1)).toBe(0);
    expect(skipOneSpace(unitsOf("\ta"), 0, 2)).toBe(0);
  });

  it("ends behind its last line break", () => {
    expect(symbolsOrWhiteSpaceEnd(unitsOf("  \n \n  a"), 0, 8, flags, notSymbolFlags, false)).toBe(
      5,
    );
  });
});

describe("symbols", () => {
  it("take the line breaks behind them along, and slashes where the family does", () => {
    expect(symbolsOrWhiteSpaceEnd(unitsOf(" ..\n\na"), 0, 6, flags, notSymbolFlags, false)).toBe(5);
    expect(symbolsOrWhiteSpaceEnd(unitsOf("..\n/\na"), 0, 6, flags, notSymbolFlags, false)).toBe(3);
    expect(symbolsOrWhiteSpaceEnd(unitsOf("..\n/\na"), 0, 6, flags, notSymbolFlags, true)).toBe(5);
  });
});
