import { readOutputShape } from "@baton/text";
import { describe, expect, it } from "vitest";
import { writeShapeGrammar } from "../../../src/engines/llama/shape-grammar.ts";

/** The rules of a schema's grammar, by name, without those that all have. */
function rulesOf(schema: unknown): Record<string, string> {
  const shape = readOutputShape({ kind: "json_schema", schema: JSON.stringify(schema) });
  const [own] = writeShapeGrammar(shape).split("\nspace ::= ");
  const rules = (own ?? "").split("\n").map((line) => line.split(" ::= "));
  return Object.fromEntries(rules.map(([name, text]) => [name, text?.trim()]));
}

describe("writeShapeGrammar", () => {
  it("begins at the root, which is the first definition", () => {
    expect(rulesOf({ type: "integer" })).toEqual({ "definition-0": "whole", root: "definition-0" });
  });

  it("keeps integers within their bounds", () => {
    expect(rulesOf({ type: "integer", minimum: 1, maximum: 12 })["part-0"]).toBe(
      '[1-9] | "1" ([0-2])',
    );
  });

  it("writes constants as they stand in JSON", () => {
    const rules = rulesOf({ enum: ['a"b\\c', null, { k: [1] }] });

    expect(rules["part-0"]).toBe('"\\"a\\\\\\"b\\\\\\\\c\\"" | "null" | "{\\"k\\":[1]}"');
  });

  it("counts the letters of a bounded text", () => {
    expect(rulesOf({ minLength: 2, maxLength: 4 })["part-0"]).toBe('"\\"" letter{2,4} "\\""');
    expect(rulesOf({ minLength: 2 })["part-0"]).toBe('"\\"" letter{2,} "\\""');
    expect(rulesOf({ type: "string" })["definition-0"]).toBe("text");
  });

  it("parts properties by commas whichever optional ones are left out", () => {
    const properties = { a: { type: "integer" }, b: { type: "null" } };
    const rules = rulesOf({ properties, required: ["a"], additionalProperties: false });
    expect(rules["part-6"]).toBe('"{" space part-4 space "}"');
    expect(rules["part-4"]).toBe("part-3 part-2");
    expect(rules["part-3"]).toBe('"\\"a\\"" space ":" space whole');
    expect(rules["part-2"]).toBe('(space "," space part-0 )?');
    expect(rules["part-0"]).toBe('"\\"b\\"" space ":" space "null"');
  });

  it("names one rule for each definition, so that they may come round", () => {
    const schema = { properties: { next: { $ref: "#" } } };

    expect(Object.values(rulesOf(schema)).join(" ")).toContain("space definition-0");
  });

  it("counts the items of an array", () => {
    const list = (schema: object) =>
      rulesOf({ type: "array", items: { type: "null" }, ...schema })["part-0"];

    expect(list({})).toContain('("null" (space "," space "null"){0,})?');
    expect(list({ minItems: 2, maxItems: 3 })).toContain('"null" (space "," space "null"){1,2}');
    expect(list({ prefixItems: [true], minItems: 2 })).toContain(
      'anything (space "," space "null"){1,}',
    );
    expect(list({ maxItems: 0 })).toBe('"[" space  space "]"');
  });
});
