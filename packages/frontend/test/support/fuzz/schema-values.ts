import fc from "fast-check";

/** JSON Schema, as far as the API's schemas use it. */
export interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly additionalProperties?: boolean | JsonSchema;
}

/** Values that programs stumble over, whatever they expect. */
export const oddValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  0.5,
  1e308,
  5e-324,
  2 ** 31,
  2 ** 32,
  2 ** 53 + 2,
  -(2 ** 63),
  "",
  " ",
  "\u0000",
  "\ud800",
  "\udc00x",
  "\ufeff",
  "😀👩‍👩‍👧‍👦 กำ عربى 한국어",
  "__proto__",
  "<end>",
  "x".repeat(2_000),
  "é".repeat(700),
  [],
  [[]],
  [null],
  [""],
  [0],
  [-1],
  [1.5],
  Array.from({ length: 300 }, (_, at) => at),
  {},
  { type: "text" },
  { toString: null, constructor: 1, hasOwnProperty: [] },
  JSON.parse('{"__proto__":{"stream":true}}'),
];

/** Values that mostly keep to a schema, and now and then are odd. */
export function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 12, arbitrary: keptTo(schema) },
    { weight: 1, arbitrary: fc.constantFrom(...oddValues) },
  );
}

function keptTo(schema: JsonSchema): fc.Arbitrary<unknown> {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map(valuesOf));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  switch (schema.type) {
    case "string":
      return fc.oneof(fc.string({ maxLength: 20 }), fc.string({ unit: "binary", maxLength: 20 }));
    case "integer":
      return fc.oneof(
        fc.integer({
          min: Math.max(schema.minimum ?? -5, -5),
          max: Math.min(schema.maximum ?? 9, 9),
        }),
        fc.constantFrom(schema.minimum ?? 0, schema.maximum ?? 2 ** 31),
      );
    case "number":
      return fc.double({ min: schema.minimum ?? -10, max: schema.maximum ?? 10, noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(valuesOf(schema.items ?? {}), { maxLength: 4 });
    case "object":
      return objectsOf(schema);
    default:
      return fc.oneof(fc.constantFrom(...oddValues), fc.string(), fc.array(fc.nat(300)));
  }
}

function objectsOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, field]) => [name, valuesOf(field)]),
  );
  const known = fc.record(fields, { requiredKeys: [...(schema.required ?? [])] });
  const more = schema.additionalProperties;
  if (typeof more !== "object") return known;
  const others = fc.dictionary(fc.oneof(fc.nat(300).map(String), fc.string()), valuesOf(more), {
    maxKeys: 3,
  });
  return fc.tuple(known, others).map(([one, other]) => ({ ...one, ...other }));
}
