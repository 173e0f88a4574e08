import { describe, expect, it } from "vitest";
import {
  arrayAt,
  expectNeutral,
  idAt,
  isObject,
  objectAt,
  readJsonObject,
  refuse,
  stringAt,
} from "../../src/huggingface/json-fields.ts";

describe("JSON fields", () => {
  it("are read as text or as they are", () => {
    expect(readJsonObject('{"a":1}', "f")).toEqual({ a: 1 });
    expect(readJsonObject({ a: 1 }, "f")).toEqual({ a: 1 });
    expect(isObject([])).toBe(false);
  });

  it.each<[string, () => unknown]>([
    ["not JSON", () => readJsonObject("{", "f")],
    ["a list", () => readJsonObject("[]", "f")],
    ["null", () => objectAt(null, "f")],
    ["an object for a list", () => arrayAt({}, "f")],
    ["a number for a string", () => stringAt(1, "f")],
    ["a fraction for an id", () => idAt(0.5, "f")],
    ["a negative id", () => idAt(-1, "f")],
    ["a refused value", () => refuse("f", { a: 1 })],
  ])("name the field of %s", (_, read) => {
    expect(read).toThrow(/^f: /);
  });

  it("may be absent, null or neutral", () => {
    for (const value of [undefined, null, "", 0]) {
      expect(() => expectNeutral({ key: value }, "f", "key", ["", 0])).not.toThrow();
    }
    expect(() => expectNeutral({ key: "x" }, "f", "key", [""])).toThrow(
      /^f\.key: "x" is not supported/,
    );
  });
});
