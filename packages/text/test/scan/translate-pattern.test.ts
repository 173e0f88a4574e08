import { describe, expect, it } from "vitest";
import { TokenizerFormatError } from "../../src/index.ts";
import { translatePattern } from "../../src/scan/translate-pattern.ts";

function firstMatch(source: string, text: string): string | undefined {
  return new RegExp(translatePattern(source), "u").exec(text)?.[0];
}

describe("translatePattern", () => {
  it.each([
    ["(?i:'s|'LL)", "it'ſ", "'ſ"],
    ["(?i:'s|'LL)", "we'Ll", "'Ll"],
    ["a|b+?c", "bbc", "bbc"],
    ["x{2,3}", "xxxx", "xxx"],
    [".", "\n😀", "😀"],
    ["(?<=a)b(?!c)", "bcabcab", "b"],
    ["(ab)+", "ababa", "abab"],
    ["\\.\\u0041\\x42\\x{1F600}\\t", ".AB😀\t", ".AB😀\t"],
    ["[^\\S\\n]+", "a \t\n", " \t"],
    ["\\s", "\ufeff\u0085", "\u0085"],
    ["\\D\\P{L}", "1a1", "a1"],
    ["\\p{^L}", "a1", "1"],
  ])("%s in %j matches %j", (source, text, match) => {
    expect(firstMatch(source, text)).toBe(match);
  });

  it("gives nothing back after a possessive quantifier or an atomic group", () => {
    expect(firstMatch("a++ab", "aaab")).toBeUndefined();
    expect(firstMatch("(?>a|ab)c", "abc")).toBeUndefined();
    expect(firstMatch("a?+b", "ab")).toBe("ab");
    expect(firstMatch("a*+a*+b", "aab")).toBe("aab");
  });

  it.each([
    "^a",
    "a$",
    "(?<name>a)",
    "(a",
    "a)",
    "a**",
    "\\b",
    "\\w",
    "\\p{Han}",
    "(?i:[a-z])",
    "*a",
    "[a&&b]",
    "[[a]]",
    "[a",
    "[z-a]",
  ])("refuses %s and names the field", (source) => {
    expect(() => translatePattern(source)).toThrow(TokenizerFormatError);
    expect(() => translatePattern(source)).toThrow(/^pre_tokenizer\.pattern: /);
  });
});
