import { describe, expect, it } from "vitest";
import { compileRules, makeRuleScanner } from "../../src/scan/rule-scanner.ts";
import { characterFlags } from "../../src/unicode/character-flags.ts";
import { cutWords } from "../support/cut-words.ts";

function words(text: string, ...sources: string[]): string[] {
  const rules = compileRules(sources.map((source) => ({ kind: "pattern", source })));
  return cutWords(makeRuleScanner(rules), text);
}

describe("a rule scanner", () => {
  it("makes words of matches and of what lies between them", () => {
    expect(words("ab12cd", "\\d")).toEqual(["ab", "1", "2", "cd"]);
  });

  it("applies each rule to the pieces of the one before", () => {
    expect(words("ab12cd", "\\d+", "[a-z]")).toEqual(["a", "b", "12", "c", "d"]);
  });

  it("ignores matches of nothing", () => {
    expect(words("abc", "b*")).toEqual(["a", "b", "c"]);
  });

  it("takes a text as one word without rules", () => {
    expect(words("any text")).toEqual(["any text"]);
  });

  it("keeps digits together or apart", () => {
    const together = makeRuleScanner(compileRules([{ kind: "digits", individual: false }]));
    const apart = makeRuleScanner(compileRules([{ kind: "digits", individual: true }]));
    expect(cutWords(together, "a12½b")).toEqual(["a", "12½", "b"]);
    expect(cutWords(apart, "a12")).toEqual(["a", "1", "2"]);
  });

  it("does not look behind the end of its window", () => {
    const scan = makeRuleScanner(compileRules([{ kind: "pattern", source: "a+|b+" }]));
    const units = Uint16Array.from("aabb", (c) => c.charCodeAt(0));
    expect(scan(units, 0, 1, characterFlags())).toBe(1);
    expect(scan(units, 1, 4, characterFlags())).toBe(2);
    expect(scan(units, 2, 4, characterFlags())).toBe(4);
  });
});
