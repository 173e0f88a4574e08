import { describe, expect, it } from "vitest";
import { ReadingEffort } from "../../src/grammar/reading-effort.ts";
import { SchemaReader } from "../../src/grammar/schema-reader.ts";

const read = (schema: unknown) => {
  const { root, definitions } = new SchemaReader(schema, new ReadingEffort()).read();
  // The root is the first definition.
  expect(root).toEqual({ kind: "ref", definition: 0 });
  return definitions;
};
const shapeOf = (schema: unknown) => read(schema)[0];

describe("SchemaReader", () => {
  it.each([
    [{}, { kind: "any" }],
    [true, { kind: "any" }],
    [{ title: "x", "x-mine": 3 }, { kind: "any" }],
    [{ type: "integer" }, { kind: "integer" }],
    [
      { type: "integer", minimum: 1, maximum: 5 },
      { kind: "range", min: 1, max: 5 },
    ],
    [
      { type: ["boolean", "null"] },
      { kind: "choice", options: [{ kind: "boolean" }, { kind: "null" }] },
    ],
    [{ minLength: 2 }, { kind: "string", minLength: 2, maxLength: null }],
    [{ const: { a: 1 } }, { kind: "literals", texts: ['{"a":1}'] }],
    [{ enum: ["a", 1, "a", null] }, { kind: "literals", texts: ['"a"', "1", "null"] }],
    [
      { type: "string", enum: ["a", 1] },
      { kind: "literals", texts: ['"a"'] },
    ],
    [
      { type: "integer", enum: [1.5, 2] },
      { kind: "literals", texts: ["2"] },
    ],
    [
      { type: ["array", "object", "null"], enum: [1, [2], { a: 3 }, null] },
      { kind: "literals", texts: ["[2]", '{"a":3}', "null"] },
    ],
    [{ allOf: [{ type: "null" }], description: "x" }, { kind: "null" }],
    [{ type: "integer", uniqueItems: false, minProperties: 0 }, { kind: "integer" }],
  ])("reads %j", (schema, shape) => {
    expect(shapeOf(schema)).toEqual(shape);
  });

  it.each([
    ["object", { required: [] }],
    ["object", { additionalProperties: false }],
    ["array", { maxItems: 2 }],
    ["array", { prefixItems: [] }],
  ])("takes an %s where a schema without type speaks of one: %j", (kind, schema) => {
    expect(shapeOf(schema)?.kind).toBe(kind);
  });

  it("follows references, also those that come round", () => {
    const node = {
      type: "object",
      properties: { next: { anyOf: [{ $ref: "#/$defs/a~1b%20c" }, { type: "null" }] } },
      required: ["next"],
    };
    const [root, definition] = read({ $ref: "#/$defs/a~1b%20c", $defs: { "a/b c": node } });

    expect(root).toEqual({ kind: "ref", definition: 1 });
    expect(definition).toMatchObject({
      properties: [
        { value: { kind: "choice", options: [{ kind: "ref", definition: 1 }, { kind: "null" }] } },
      ],
    });
  });

  it("takes oneOf of options that are told apart, also by way of references", () => {
    const animal = (kind: string) => ({
      properties: { kind: { const: kind } },
      required: ["kind"],
    });
    const $defs = { cat: animal("cat"), dog: animal("dog") };
    const oneOf = [{ $ref: "#/$defs/cat" }, { $ref: "#/$defs/dog" }];

    expect(shapeOf({ oneOf, $defs })).toMatchObject({ kind: "choice" });
    expect(() => shapeOf({ oneOf, $defs: { ...$defs, dog: animal("cat") } })).toThrow(/oneOf/);
  });

  it.each([
    ["multipleOf", { type: "integer", multipleOf: 2 }],
    ["minimum", { properties: { a: { minimum: 1 } } }],
    ["pattern", { type: "string", pattern: "a" }],
    ["not", { not: {} }],
    ["if", { if: {}, else: {} }],
    ["patternProperties", { patternProperties: {} }],
    ["uniqueItems", { type: "array", uniqueItems: true }],
    ["minProperties", { type: "object", minProperties: 1 }],
    ["unevaluatedProperties", { unevaluatedProperties: {} }],
    ["format", { type: "string", format: "email" }],
    ["allOf", { allOf: [{}, {}] }],
    ["anyOf beside type", { anyOf: [{}], type: "string" }],
    ["$ref beside properties", { $ref: "#/$defs/a", properties: {}, $defs: { a: {} } }],
    ["enum beside minLength", { enum: ["a"], minLength: 1 }],
    ["$ref", { $ref: "https://example.com/schema" }],
    ["$ref", { $ref: "#anchor" }],
  ])("names %s as what it cannot keep to", (what, schema) => {
    expect(() => shapeOf(schema)).toThrowError(
      expect.objectContaining({
        code: "unsupported",
        details: { param: "response_format", problem: expect.stringContaining(what) },
      }),
    );
  });

  it.each([
    ["no object", 3],
    ["no object", [1]],
    ["allows nothing", false],
    ["allows nothing", { properties: { a: { const: 1, type: "string" } } }],
    ["allows nothing", { type: "string", enum: [1] }],
    ["no type", { type: "text" }],
    ["empty", { type: [] }],
    ["empty", { anyOf: [] }],
    ["no list", { enum: "a" }],
    ["no text", { $ref: 1 }],
    ["nothing at #/$defs/a", { $ref: "#/$defs/a" }],
    ["nothing at #/$defs/toString", { $ref: "#/$defs/toString", $defs: {} }],
    ["no pointer", { $ref: "#/%" }],
    ["refers to itself", { $ref: "#" }],
  ])("says %s of a schema that is none", (what, schema) => {
    expect(() => shapeOf(schema)).toThrowError(
      expect.objectContaining({
        code: "invalid_request",
        details: { param: "response_format", problem: expect.stringContaining(what) },
      }),
    );
  });

  it.each([
    ["#/properties/a~1b~0c", { properties: { "a/b~c": { pattern: "x" } } }],
    ["#/properties/a/items", { properties: { a: { items: { pattern: "x" } } } }],
    ["#/prefixItems/1", { prefixItems: [true, { pattern: "x" }] }],
    ["#/items/0", { items: [{ pattern: "x" }] }],
    ["#/anyOf/1", { anyOf: [true, { pattern: "x" }] }],
    ["#/additionalProperties", { additionalProperties: { pattern: "x" } }],
    [
      "#/$defs/a/properties/b",
      { $ref: "#/$defs/a", $defs: { a: { properties: { b: { pattern: "x" } } } } },
    ],
    ["#/properties/a", { properties: { a: { type: "text" } } }],
  ])("says that a fault is at %s", (place, schema) => {
    expect(() => shapeOf(schema)).toThrowError(
      new RegExp(`^[^#]*, at ${place.replace("$", "\\$")}$`),
    );
  });

  it("says of a fault at the root just what it is", () => {
    expect(() => shapeOf({ pattern: "x" })).toThrowError(
      /^pattern is not supported in a JSON schema$/,
    );
  });
});
