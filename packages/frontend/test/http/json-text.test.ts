import { describe, expect, it } from "vitest";
import { endOfString, isBeforeColon } from "../../src/http/json-text.ts";

describe("JSON as it is written", () => {
  it.each([
    ['""', 1],
    ['"a" "', 2],
    ['"\\""', 3],
    ['"\\\\"', 3],
    ['"\\\\\\""', 5],
    ['"\\', -1],
    ['"\\"', -1],
  ])("ends the string of %s at %d", (text, end) => {
    expect(endOfString(text, 1)).toBe(end);
  });

  it("knows what stands before a colon", () => {
    expect(['"a":', '"a" \t\r\n :', '"a"'].map((text) => isBeforeColon(text, 3))).toEqual([
      true,
      true,
      false,
    ]);
    expect(isBeforeColon('"a" x:', 3)).toBe(false);
  });
});
