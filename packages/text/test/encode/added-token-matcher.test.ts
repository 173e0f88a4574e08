import { describe, expect, it } from "vitest";
import { AddedTokenMatcher } from "../../src/encode/added-token-matcher.ts";

const matcher = new AddedTokenMatcher([
  { content: "<|a|>", id: 1 },
  { content: "<|a", id: 2 },
  { content: "<|ab|>", id: 3 },
  { content: "", id: 4 },
]);

function find(text: string, from = 0, end = text.length): [number, number, number] | undefined {
  const units = Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  const found = matcher.find(units, from, end, end);
  return found ? [matcher.match.at, matcher.match.end, matcher.match.id] : undefined;
}

describe("AddedTokenMatcher", () => {
  it("finds the leftmost token, and the longest that begins there", () => {
    expect(find("x<|ab|><|a|>")).toEqual([1, 7, 3]);
    expect(find("x<|ab|><|a|>", 7)).toEqual([7, 12, 1]);
    expect(find("<|ab")).toEqual([0, 3, 2]);
  });

  it("looks no further than the end", () => {
    expect(find("<|a|>", 0, 4)).toEqual([0, 3, 2]);
    expect(find("<|a|>", 0, 2)).toBeUndefined();
  });

  it("finds nothing where there is nothing", () => {
    expect(find("< | a")).toBeUndefined();
    expect(new AddedTokenMatcher([]).find(Uint16Array.of(60), 0, 1, 1)).toBe(false);
  });
});
