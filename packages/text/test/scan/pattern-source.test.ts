import { describe, expect, it } from "vitest";
import { complement, escapeSource, readEscape, setSource } from "../../src/scan/pattern-source.ts";

describe("complement", () => {
  it("is everything outside the ranges, whatever their order", () => {
    expect(
      complement([
        { first: 10, last: 20 },
        { first: 0, last: 3 },
        { first: 15, last: 30 },
      ]),
    ).toEqual([
      { first: 4, last: 9 },
      { first: 31, last: 0x10ffff },
    ]);
    expect(complement([{ first: 0, last: 0x10ffff }])).toEqual([]);
  });
});

describe("readEscape", () => {
  it("moves behind the escape", () => {
    const cursor = { source: "a\\x{41}b", at: 1, groups: 0 };
    expect(readEscape(cursor)).toEqual({ kind: "character", codePoint: 0x41 });
    expect(cursor.at).toBe(7);
  });

  it("refuses an escape that ends the pattern", () => {
    expect(() => readEscape({ source: "\\", at: 0, groups: 0 })).toThrow(/not supported/);
  });
});

describe("setSource", () => {
  it("is a class that JavaScript reads the same", () => {
    expect(
      setSource([
        { first: 0x5d, last: 0x5d },
        { first: 0x1f600, last: 0x1f601 },
      ]),
    ).toBe("[\\u{5d}\\u{1f600}-\\u{1f601}]");
    expect(escapeSource(0x2d)).toBe("\\u{2d}");
  });
});
