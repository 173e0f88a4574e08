import { describe, expect, it } from "vitest";
import {
  characterFlags,
  letterFlag,
  lineBreakFlag,
  lowerPartFlag,
  notAsciiLowerFlag,
  notAsciiUpperFlag,
  numberFlag,
  spaceFlag,
  upperPartFlag,
} from "../../src/unicode/character-flags.ts";

const neitherCase = notAsciiLowerFlag | notAsciiUpperFlag;

describe("characterFlags", () => {
  it.each([
    ["A", letterFlag | upperPartFlag | notAsciiLowerFlag],
    ["ǅ", letterFlag | upperPartFlag | neitherCase],
    ["a", letterFlag | lowerPartFlag | notAsciiUpperFlag],
    ["ʰ", letterFlag | upperPartFlag | lowerPartFlag | neitherCase],
    ["字", letterFlag | upperPartFlag | lowerPartFlag | neitherCase],
    ["\u0301", upperPartFlag | lowerPartFlag],
    ["½", numberFlag],
    ["\n", spaceFlag | lineBreakFlag],
    ["\r", spaceFlag | lineBreakFlag],
    ["\u2028", spaceFlag],
    ["\u0085", spaceFlag],
    ["\ufeff", 0],
    ["😀", 0],
    ["𝒜", letterFlag | upperPartFlag | neitherCase],
  ])("of %j", (character, flags) => {
    expect(characterFlags()[character.codePointAt(0) ?? 0]).toBe(flags);
  });

  it("are made once", () => {
    expect(characterFlags()).toBe(characterFlags());
  });
});
