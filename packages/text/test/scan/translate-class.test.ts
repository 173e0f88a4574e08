import { describe, expect, it } from "vitest";
import { translateClass } from "../../src/scan/translate-class.ts";

function members(source: string, characters: string): string {
  const pattern = new RegExp(translateClass({ source, at: 0, groups: 0 }), "u");
  return Array.from(characters)
    .filter((character) => pattern.test(character))
    .join("");
}

describe("translateClass", () => {
  it("reads ranges, escapes, categories and negation", () => {
    expect(members("[a-c\\-\\]x]", "abcd-]xy")).toBe("abc-]x");
    expect(members("[^\\r\\n\\p{L}\\p{N}]", "a1 .\n😀")).toBe(" .😀");
    expect(members("[a-]", "a-b")).toBe("a-");
    expect(members("[一-龥]", "字a")).toBe("字");
    expect(members("[\\P{L}]", "a1")).toBe("1");
  });

  it("moves behind the class", () => {
    const cursor = { source: "x[ab]y", at: 1, groups: 0 };
    translateClass(cursor);
    expect(cursor.at).toBe(5);
  });
});
