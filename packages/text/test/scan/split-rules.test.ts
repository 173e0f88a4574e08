import { describe, expect, it } from "vitest";
import {
  familyOfRules,
  isPreTokenizerFamily,
  preTokenizerFamilies,
  splitRulesOf,
} from "../../src/scan/split-rules.ts";

describe("families", () => {
  it.each(preTokenizerFamilies)("%s is recognized by its exact rules", (family) => {
    expect(familyOfRules([...splitRulesOf(family)])).toBe(family);
  });

  it("is not recognized if one character differs", () => {
    expect(familyOfRules([{ kind: "pattern", source: "\\p{N}{1,3}" }])).toBeUndefined();
    expect(
      familyOfRules([{ kind: "digits", individual: false }, ...splitRulesOf("gpt-2")]),
    ).toBeUndefined();
    expect(familyOfRules([])).toBeUndefined();
  });

  it("have names", () => {
    expect(isPreTokenizerFamily("smollm")).toBe(true);
    expect(isPreTokenizerFamily("toString")).toBe(false);
    expect(isPreTokenizerFamily(3)).toBe(false);
  });
});
