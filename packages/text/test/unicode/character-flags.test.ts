import { describe, expect, it } from "vitest";
import {
  characterFlags,
  letterFlag,
  lineBreakFlag,
  lowerPartFlag,
  numberFlag,
  spaceFlag,
  upperPartFlag,
} from "../../src/unicode/character-flags.ts";

describe("characterFlags", () => {
  it.each([
    ["A", letterFlag | upperPartFlag],
    ["ǅ", letterFlag | upperPartFlag],
    ["a", letterFlag | lowerPartFlag],
    ["ʰ", letterFlag | upperPartFlag | lowerPartFlag],
    ["字", letterFlag | upperPartFlag | lowerPartFlag],
    ["\u0301", upperPartFlag | lowerPartFlag],
    ["½", numberFlag],
    ["\n", spaceFlag | lineBreakFlag],
    ["\r", spaceFlag | lineBreakFlag],
    ["\u2028", spaceFlag],
    ["\u0085", spaceFlag],
    ["\ufeff", 0],
    ["😀", 0],
    ["𝒜", letterFlag | upperPartFlag],
  ])("of %j", (character, flags) => {
    expect(characterFlags()[character.codePointAt(0) ?? 0]).toBe(flags);
  });

  it("are made once", () => {
    expect(characterFlags()).toBe(characterFlags());
  });
});
