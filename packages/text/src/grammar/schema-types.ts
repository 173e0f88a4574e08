/** The keywords of JSON Schema that belong to one type. */

import { invalidGrammar, unsupportedGrammar } from "./grammar-errors.ts";
import type { SchemaObject } from "./schema-reader.ts";
import {
  type ArrayShape,
  maxWholeNumber,
  type ObjectShape,
  type StringFormat,
  type ValueShape,
} from "./value-shape.ts";

/** Reads a schema inside of another one, at a path from there. */
type ReadInner = (schema: unknown, ...path: readonly (string | number)[]) => ValueShape;

/** Lengths beyond this are refused: what counts them grows with them. */
const maxBound = 2_000;
/** The keywords that bound numbers. */
export const numberBounds = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"] as const;
const formats: readonly StringFormat[] = ["date", "time", "date-time", "uuid"];

export function readString(schema: SchemaObject): ValueShape {
  const minLength = boundOf(schema, "minLength");
  const maxLength = boundOf(schema, "maxLength");
  if (schema.format !== undefined) {
    const format = formats.find((known) => known === schema.format);
    if (format === undefined) throw unsupportedGrammar(`format ${JSON.stringify(schema.format)}`);
    if (minLength !== null || maxLength !== null) {
      throw unsupportedGrammar("format beside minLength or maxLength");
    }
    return { kind: "formatted", format };
  }
  checkOrder(minLength ?? 0, maxLength, "Length");
  return { kind: "string", minLength: minLength ?? 0, maxLength };
}

export function readNumber(schema: SchemaObject): ValueShape {
  const bound = numberBounds.find((keyword) => schema[keyword] !== undefined);
  if (bound !== undefined) throw unsupportedGrammar(`${bound} of numbers that are no integers`);
  return { kind: "number" };
}

export function readInteger(schema: SchemaObject): ValueShape {
  const [least, above, most, below] = numberBounds.map((keyword) => limitOf(schema, keyword));
  const min = Math.max(
    Math.ceil(least ?? Number.NEGATIVE_INFINITY),
    Math.floor(above ?? Number.NEGATIVE_INFINITY) + 1,
  );
  const max = Math.min(
    Math.floor(most ?? Number.POSITIVE_INFINITY),
    Math.ceil(below ?? Number.POSITIVE_INFINITY) - 1,
  );
  if (min > max) throw invalidGrammar("no integer is within the bounds");
  if (min > maxWholeNumber || max < -maxWholeNumber) {
    throw unsupportedGrammar("bounds of integers of more than fifteen digits");
  }
  // An integer without bounds has no more digits either.
  if (min <= -maxWholeNumber && max >= maxWholeNumber) return { kind: "integer" };
  return {
    kind: "range",
    min: Math.max(min, -maxWholeNumber),
    max: Math.min(max, maxWholeNumber),
  };
}

export function readArray(schema: SchemaObject, readInner: ReadInner): ArrayShape {
  const minItems = boundOf(schema, "minItems") ?? 0;
  const maxItems = boundOf(schema, "maxItems");
  checkOrder(minItems, maxItems, "Items");
  // Earlier drafts put the prefix into `items`.
  const isTuple = Array.isArray(schema.items);
  const listed = isTuple ? schema.items : (schema.prefixItems ?? []);
  if (!Array.isArray(listed)) throw invalidGrammar("prefixItems is no list");
  const prefix = listed
    .slice(0, maxItems ?? listed.length)
    .map((inner, index) => readInner(inner, isTuple ? "items" : "prefixItems", index));
  const others = isTuple ? true : (schema.items ?? true);
  const minRest = Math.max(0, minItems - prefix.length);
  const isClosed = others === false || endsWithPrefix(schema);
  const maxRest = isClosed ? 0 : maxItems === null ? null : maxItems - prefix.length;
  if (maxRest !== null && minRest > maxRest) throw invalidGrammar("minItems asks for too many");
  const rest: ValueShape = maxRest === 0 ? { kind: "any" } : readInner(others, "items");
  return { kind: "array", prefix, rest, minRest, maxRest };
}

/** Whether nothing may follow what is listed. `items` that are no list have evaluated all that does. */
function endsWithPrefix({ items, additionalItems, unevaluatedItems }: SchemaObject): boolean {
  const evaluatesAll = items !== undefined && !Array.isArray(items);
  return additionalItems === false || (unevaluatedItems === false && !evaluatesAll);
}

export function readObject(schema: SchemaObject, readInner: ReadInner): ObjectShape {
  const listed = mapOf(schema, "properties");
  const required = namesOf(schema);
  const others = schema.additionalProperties ?? true;
  const properties: ObjectShape["properties"][number][] = [];
  for (const [name, value] of Object.entries(listed)) {
    const isRequired = required.has(name);
    // What may not be there is left out.
    if (value === false && !isRequired) continue;
    properties.push({ name, value: readInner(value, "properties", name), isRequired });
  }
  for (const name of required) {
    if (Object.hasOwn(listed, name)) continue;
    properties.push({ name, value: readInner(others, "additionalProperties"), isRequired: true });
  }
  const isOpen =
    properties.length === 0 && others !== false && schema.unevaluatedProperties !== false;
  return {
    kind: "object",
    properties,
    others: isOpen ? readInner(others, "additionalProperties") : null,
  };
}

function mapOf(schema: SchemaObject, keyword: string): SchemaObject {
  const map = schema[keyword] ?? {};
  if (typeof map !== "object" || Array.isArray(map))
    throw invalidGrammar(`${keyword} is no object`);
  return map as SchemaObject;
}

function namesOf(schema: SchemaObject): ReadonlySet<string> {
  const names = schema.required ?? [];
  if (!Array.isArray(names) || names.some((name) => typeof name !== "string")) {
    throw invalidGrammar("required is no list of names");
  }
  return new Set(names as readonly string[]);
}

function limitOf(schema: SchemaObject, keyword: string): number | null {
  const limit = schema[keyword];
  if (limit === undefined) return null;
  // Earlier drafts have true and false beside minimum and maximum.
  if (typeof limit === "boolean") throw unsupportedGrammar(`${keyword} that is no number`);
  if (typeof limit !== "number") throw invalidGrammar(`${keyword} is no number`);
  return limit;
}

function boundOf(schema: SchemaObject, keyword: string): number | null {
  const bound = schema[keyword];
  if (bound === undefined) return null;
  if (typeof bound !== "number" || !Number.isInteger(bound) || bound < 0) {
    throw invalidGrammar(`${keyword} is no count`);
  }
  if (bound > maxBound) throw unsupportedGrammar(`${keyword} above ${maxBound}`);
  return bound;
}

function checkOrder(min: number, max: number | null, what: string): void {
  if (max !== null && min > max) throw invalidGrammar(`min${what} is above max${what}`);
}
