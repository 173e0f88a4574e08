/** A JSON schema, as far as wrong values are made of it. */
export interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly FieldSchema[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | FieldSchema;
}

/** A wrong value of a field, and what a client is told is at fault: the field, or what in it. */
export interface WrongValue {
  readonly path: string;
  readonly value: unknown;
}

const oneOfEach: Readonly<Record<string, unknown>> = {
  string: "some text",
  number: 0.5,
  boolean: true,
  array: [[]],
  object: { some: "thing" },
};

/** Values that a field may not have, by its own schema: of other types, out of bounds, and wrong within. */
export function wrongValues(schema: FieldSchema, path: string): readonly WrongValue[] {
  const all = (schema.anyOf ?? [schema]).filter(({ type }) => type !== "null");
  const types = new Set(all.flatMap(typesOf));
  const others = Object.entries(oneOfEach)
    .filter(([type]) => !types.has(type) && !(type === "number" && types.has("integer")))
    .map(([, value]) => ({ path, value }));
  const [only] = all;
  // Which of several a value was meant to be is told for one of them only.
  if (only === undefined || all.length > 1) return types.size === 0 ? [] : others;
  return [...(types.size === 0 ? [] : others), ...bounds(only, path), ...within(only, path)];
}

function typesOf({ type, enum: values }: FieldSchema): readonly string[] {
  if (type === undefined) return values === undefined ? [] : ["string"];
  return typeof type === "string" ? [type] : type;
}

function bounds(schema: FieldSchema, path: string): readonly WrongValue[] {
  const { minimum, exclusiveMinimum, maximum, maxItems, maxLength, minLength } = schema;
  const isWhole = typesOf(schema).includes("integer");
  return [
    ...(minimum === undefined || minimum < -(2 ** 50) ? [] : [minimum - 1]),
    ...(exclusiveMinimum === undefined ? [] : [exclusiveMinimum]),
    ...(maximum === undefined || maximum > 2 ** 50 ? [] : [maximum + 1]),
    ...(isWhole ? [0.5] : []),
    ...(minLength === undefined ? [] : [""]),
    ...(maxLength === undefined ? [] : ["x".repeat(maxLength + 1)]),
    ...(schema.enum === undefined ? [] : ["none of them"]),
    ...(maxItems === undefined ? [] : [new Array(maxItems + 1).fill("x")]),
  ].map((value) => ({ path, value }));
}

function within(schema: FieldSchema, path: string): readonly WrongValue[] {
  const { additionalProperties, items, properties = {}, required = [] } = schema;
  const inFields = Object.entries(properties).flatMap(([name, property]) =>
    wrongValues(property, `${path}.${name}`).map(({ path: inner, value }) => ({
      path: inner,
      value: { [name]: value },
    })),
  );
  const inItems = (items === undefined ? [] : wrongValues(items, `${path}[0]`)).map(
    ({ path: inner, value }) => ({
      path: inner,
      value: [value],
    }),
  );
  const unknown = additionalProperties === false ? [{ path, value: { unheard_of: 1 } }] : [];
  // Where something else is missing too, either may be told.
  return required.length > 0 ? unknown : [...inFields, ...inItems, ...unknown];
}
