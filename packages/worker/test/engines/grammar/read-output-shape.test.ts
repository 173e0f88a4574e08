import { describe, expect, it } from "vitest";
import { readOutputShape } from "../../../src/engines/grammar/read-output-shape.ts";

const read = (schema: unknown) => {
  const { root, definitions } = readOutputShape({
    kind: "json_schema",
    schema: JSON.stringify(schema),
  });
  // The root is the first definition.
  expect(root).toEqual({ kind: "ref", definition: 0 });
  return definitions;
};
const shapeOf = (schema: unknown) => read(schema)[0];

describe("readOutputShape", () => {
  it("asks for any object where only JSON is wanted", () => {
    expect(readOutputShape({ kind: "json" }).root).toMatchObject({
      kind: "object",
      others: { kind: "any" },
    });
  });

  it.each([
    [{}, { kind: "any" }],
    [true, { kind: "any" }],
    [{ title: "x", "x-mine": 3 }, { kind: "any" }],
    [{ type: "integer" }, { kind: "integer" }],
    [
      { type: ["string", "null"] },
      {
        kind: "choice",
        options: [{ kind: "string", minLength: 0, maxLength: null }, { kind: "null" }],
      },
    ],
    [{ minLength: 2 }, { kind: "string", minLength: 2, maxLength: null }],
    [
      { type: "string", format: "uuid" },
      { kind: "formatted", format: "uuid" },
    ],
    [{ const: { a: 1 } }, { kind: "literals", texts: ['{"a":1}'] }],
    [{ enum: ["a", 1, "a", null] }, { kind: "literals", texts: ['"a"', "1", "null"] }],
    [
      { type: "string", enum: ["a", 1] },
      { kind: "literals", texts: ['"a"'] },
    ],
    [{ allOf: [{ type: "null" }], description: "x" }, { kind: "null" }],
    [{ type: "integer", uniqueItems: false, minProperties: 0 }, { kind: "integer" }],
  ])("reads %j", (schema, shape) => {
    expect(shapeOf(schema)).toEqual(shape);
  });

  it("takes properties in their order, and names those that must be there", () => {
    const schema = {
      properties: { b: { type: "null" }, a: true, gone: false },
      required: ["a", "c", "a"],
      additionalProperties: { type: "integer" },
    };

    expect(shapeOf(schema)).toEqual({
      kind: "object",
      properties: [
        { name: "b", value: { kind: "null" }, isRequired: false },
        { name: "a", value: { kind: "any" }, isRequired: true },
        { name: "c", value: { kind: "integer" }, isRequired: true },
      ],
      others: null,
    });
  });

  it.each([
    [{ type: "object" }, { kind: "any" }],
    [{ type: "object", additionalProperties: { type: "null" } }, { kind: "null" }],
    [{ type: "object", additionalProperties: false }, null],
    [{ type: "object", unevaluatedProperties: false }, null],
  ])("says what an object without properties may hold: %j", (schema, others) => {
    expect(shapeOf(schema)).toEqual({ kind: "object", properties: [], others });
  });

  it.each([
    [{ type: "array" }, { prefix: [], rest: { kind: "any" }, minRest: 0, maxRest: null }],
    [
      { items: { type: "null" }, minItems: 2, maxItems: 3 },
      { prefix: [], rest: { kind: "null" }, minRest: 2, maxRest: 3 },
    ],
    [
      { prefixItems: [{ type: "null" }], items: false },
      { prefix: [{ kind: "null" }], maxRest: 0 },
    ],
    [
      { items: [{ type: "null" }, true], maxItems: 1 },
      { prefix: [{ kind: "null" }], minRest: 0, maxRest: 0 },
    ],
    [
      { prefixItems: [{ type: "null" }], items: true, minItems: 3 },
      { prefix: [{ kind: "null" }], rest: { kind: "any" }, minRest: 2, maxRest: null },
    ],
  ])("reads the array %j", (schema, shape) => {
    expect(shapeOf(schema)).toMatchObject({ kind: "array", ...shape });
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

  it.each([
    [[{ type: "integer" }, { type: "string" }]],
    [[{ const: "a" }, { enum: ["b", 1] }]],
    [[{ anyOf: [{ type: "null" }, { const: 1 }] }, { type: "string", format: "date" }]],
    [[{ $ref: "#/$defs/cat" }, { $ref: "#/$defs/dog" }]],
  ])("takes oneOf %j, which are told apart", (oneOf) => {
    const animal = (kind: string) => ({
      properties: { kind: { const: kind } },
      required: ["kind"],
    });
    const $defs = { cat: animal("cat"), dog: animal("dog") };

    expect(shapeOf({ oneOf, $defs })).toMatchObject({ kind: "choice" });
  });

  it.each([
    [[{ type: "integer" }, { type: "number" }]],
    [[{ type: "string" }, {}]],
    [[{ const: "a" }, { enum: ["b", "a"] }]],
    [[{ const: { a: 1 } }, { const: { b: 1 } }]],
    [[{ properties: { k: { const: 1 } } }, { properties: { k: { const: 2 } }, required: ["k"] }]],
    [[{ type: "object" }, { properties: { k: { type: "string" } }, required: ["k"] }]],
  ])("refuses oneOf %j, since a value might be valid by both", (oneOf) => {
    expect(() => shapeOf({ oneOf })).toThrow(/oneOf/);
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
    ["format", { type: "string", format: "email" }],
    ["format", { type: "string", format: "date", maxLength: 3 }],
    ["maxLength", { type: "string", maxLength: 5_000 }],
    ["allOf", { allOf: [{}, {}] }],
    ["anyOf beside type", { anyOf: [{}], type: "string" }],
    ["$ref beside properties", { $ref: "#/$defs/a", properties: {}, $defs: { a: {} } }],
    ["enum beside minLength", { enum: ["a"], minLength: 1 }],
    ["$ref", { $ref: "https://example.com/schema" }],
    ["$ref", { $ref: "#anchor" }],
    ["nesting", JSON.parse(`${'{"not":'.repeat(70)}{}${"}".repeat(70)}`)],
    ["characters", { description: "x".repeat(70_000) }],
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
    ["allows nothing", { required: ["a"], properties: { a: false } }],
    ["allows nothing", { required: ["a"], additionalProperties: false }],
    ["allows nothing", { type: "string", enum: [1] }],
    ["no type", { type: "text" }],
    ["empty", { type: [] }],
    ["empty", { anyOf: [] }],
    ["no list", { enum: "a" }],
    ["no list", { prefixItems: {} }],
    ["no list of names", { required: [1] }],
    ["no object", { properties: [] }],
    ["no count", { maxLength: -1 }],
    ["minItems", { type: "array", minItems: 3, maxItems: 2 }],
    ["minItems", { type: "array", minItems: 3, items: false }],
    ["nothing at #/$defs/a", { $ref: "#/$defs/a" }],
    ["nothing at #/$defs/toString", { $ref: "#/$defs/toString", $defs: {} }],
    ["no pointer", { $ref: "#/%" }],
    ["refers to itself", { $ref: "#" }],
    ["refers to itself", { anyOf: [{ type: "null" }, { $ref: "#" }] }],
    ["nothing that ends", { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] }],
  ])("says %s of a schema that is none", (what, schema) => {
    expect(() => shapeOf(schema)).toThrowError(
      expect.objectContaining({
        code: "invalid_request",
        details: { param: "response_format", problem: expect.stringContaining(what) },
      }),
    );
  });

  it("refuses what is no JSON, and a kind that it does not know", () => {
    expect(() => readOutputShape({ kind: "json_schema", schema: "{" })).toThrow(/no JSON/);
    expect(() => readOutputShape({ kind: "regex" } as never)).toThrow(/this kind/);
  });

  it("reads a schema whose definitions need each other a thousandfold, in their worst order", () => {
    const $defs: Record<string, unknown> = { d0: { type: "null" } };
    for (let i = 1; i < 600; i++) {
      const ref = { $ref: `#/$defs/d${i - 1}` };
      $defs[`d${i}`] = { properties: { a: ref, b: ref }, required: ["a", "b"] };
    }

    expect(read({ $ref: "#/$defs/d599", $defs })).toHaveLength(601);
  });
});
