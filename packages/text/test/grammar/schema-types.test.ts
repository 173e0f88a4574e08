import { describe, expect, it } from "vitest";
import {
  readArray,
  readInteger,
  readNumber,
  readObject,
  readString,
} from "../../src/grammar/schema-types.ts";
import type { ValueShape } from "../../src/grammar/value-shape.ts";

/** Reads inner schemas that are a shape's kind. */
const inner = (schema: unknown): ValueShape => {
  if (schema === false) throw new Error("allows nothing");
  return { kind: schema === true ? "any" : (schema as "null") };
};
const refusal = (code: string, what: string) =>
  expect.objectContaining({
    code,
    details: { param: "response_format", problem: expect.stringContaining(what) },
  });

describe("readString", () => {
  it.each([
    [{}, { kind: "string", minLength: 0, maxLength: null }],
    [{ minLength: 2 }, { kind: "string", minLength: 2, maxLength: null }],
    [{ maxLength: 0 }, { kind: "string", minLength: 0, maxLength: 0 }],
    [{ format: "uuid" }, { kind: "formatted", format: "uuid" }],
  ])("reads %j", (schema, shape) => {
    expect(readString(schema)).toEqual(shape);
  });

  it.each([
    [{ format: "email" }, "unsupported", "format"],
    [{ format: "date", maxLength: 3 }, "unsupported", "format"],
    [{ maxLength: 5_000 }, "unsupported", "maxLength"],
    [{ maxLength: -1 }, "invalid_request", "no count"],
    [{ maxLength: 1.5 }, "invalid_request", "no count"],
    [{ minLength: "2" }, "invalid_request", "no count"],
    [{ minLength: 3, maxLength: 2 }, "invalid_request", "minLength"],
  ])("refuses %j", (schema, code, what) => {
    expect(() => readString(schema)).toThrowError(refusal(code, what));
  });
});

describe("readInteger", () => {
  it.each([
    [{}, { kind: "integer" }],
    [
      { minimum: 0, maximum: 10 },
      { kind: "range", min: 0, max: 10 },
    ],
    [
      { exclusiveMinimum: 0, exclusiveMaximum: 10 },
      { kind: "range", min: 1, max: 9 },
    ],
    [
      { minimum: 0.5, exclusiveMaximum: 2.5 },
      { kind: "range", min: 1, max: 2 },
    ],
    [
      { minimum: 1, exclusiveMinimum: 4 },
      { kind: "range", min: 5, max: 999_999_999_999_999 },
    ],
    [{ maximum: -1 }, { kind: "range", min: -999_999_999_999_999, max: -1 }],
    [{ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, { kind: "integer" }],
  ])("reads %j", (schema, shape) => {
    expect(readInteger(schema)).toEqual(shape);
  });

  it.each([
    [{ minimum: 3, maximum: 2 }, "invalid_request", "within the bounds"],
    [{ exclusiveMinimum: 1, exclusiveMaximum: 2 }, "invalid_request", "within the bounds"],
    [{ minimum: "1" }, "invalid_request", "minimum is no number"],
    [{ minimum: 1, exclusiveMinimum: true }, "unsupported", "exclusiveMinimum"],
    [{ minimum: 1e15 }, "unsupported", "fifteen digits"],
  ])("refuses %j", (schema, code, what) => {
    expect(() => readInteger(schema)).toThrowError(refusal(code, what));
  });
});

describe("readNumber", () => {
  it("reads numbers without bounds alone", () => {
    expect(readNumber({})).toEqual({ kind: "number" });
    expect(() => readNumber({ maximum: 1 })).toThrowError(refusal("unsupported", "maximum"));
  });
});

describe("readArray", () => {
  it.each([
    [{}, { prefix: [], rest: { kind: "any" }, minRest: 0, maxRest: null }],
    [
      { items: "null", minItems: 2, maxItems: 3 },
      { prefix: [], rest: { kind: "null" }, minRest: 2, maxRest: 3 },
    ],
    [
      { prefixItems: ["null"], items: false },
      { prefix: [{ kind: "null" }], maxRest: 0 },
    ],
    [
      { items: ["null", true], maxItems: 1 },
      { prefix: [{ kind: "null" }], minRest: 0, maxRest: 0 },
    ],
    [
      { items: ["null"], additionalItems: false },
      { prefix: [{ kind: "null" }], maxRest: 0 },
    ],
    [
      { prefixItems: ["null"], unevaluatedItems: false },
      { prefix: [{ kind: "null" }], minRest: 0, maxRest: 0 },
    ],
    [
      { prefixItems: ["null"], items: true, minItems: 3 },
      { prefix: [{ kind: "null" }], rest: { kind: "any" }, minRest: 2, maxRest: null },
    ],
  ])("reads %j", (schema, shape) => {
    expect(readArray(schema, inner)).toMatchObject({ kind: "array", ...shape });
  });

  it.each([
    [{ minItems: 3, maxItems: 2 }, "minItems"],
    [{ minItems: 3, items: false }, "minItems"],
    [{ prefixItems: {} }, "no list"],
  ])("refuses %j", (schema, what) => {
    expect(() => readArray(schema, inner)).toThrowError(refusal("invalid_request", what));
  });
});

describe("readObject", () => {
  it("takes properties in their order, and names those that must be there", () => {
    const schema = {
      properties: { b: "null", a: true, gone: false },
      required: ["a", "c", "a"],
      additionalProperties: "integer",
    };

    expect(readObject(schema, inner)).toEqual({
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
    [{}, { kind: "any" }],
    [{ additionalProperties: "null" }, { kind: "null" }],
    [{ additionalProperties: false }, null],
    [{ unevaluatedProperties: false }, null],
  ])("says what an object without properties may hold: %j", (schema, others) => {
    expect(readObject(schema, inner)).toEqual({ kind: "object", properties: [], others });
  });

  it("refuses a property that must be there and may not", () => {
    const gone = { properties: { a: false }, required: ["a"] };
    const closed = { required: ["a"], additionalProperties: false };
    expect(() => readObject(gone, inner)).toThrow("allows nothing");
    expect(() => readObject(closed, inner)).toThrow("allows nothing");
  });

  it.each([
    [{ required: [1] }, "no list of names"],
    [{ required: "a" }, "no list of names"],
    [{ properties: [] }, "no object"],
    [{ properties: "a" }, "no object"],
  ])("refuses %j", (schema, what) => {
    expect(() => readObject(schema, inner)).toThrowError(refusal("invalid_request", what));
  });
});
