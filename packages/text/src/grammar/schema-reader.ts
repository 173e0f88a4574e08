import { ServingError } from "@baton/protocol";
import { areDisjoint } from "./disjoint-shapes.ts";
import { invalidGrammar, placedGrammar, unsupportedGrammar } from "./grammar-errors.ts";
import type { ReadingEffort } from "./reading-effort.ts";
import {
  numberBounds,
  readArray,
  readInteger,
  readNumber,
  readObject,
  readString,
} from "./schema-types.ts";
import { findSelfReference } from "./self-references.ts";
import type { OutputShape, ValueShape } from "./value-shape.ts";

/** A schema that is no boolean. */
export type SchemaObject = Readonly<Record<string, unknown>>;

/** Keywords that narrow what is valid and are followed. Whatever JSON Schema does not know is an annotation. */
const followed = new Set([
  ...["$ref", "const", "enum", "anyOf", "oneOf", "allOf", "type"],
  ...["minLength", "maxLength", "format", ...numberBounds],
  ...["properties", "required", "additionalProperties"],
  ...["items", "prefixItems", "minItems", "maxItems"],
]);
/** Keywords that narrow what is valid and are not followed, unless they say just this. */
const refused: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ...never(
    "multipleOf",
    "pattern",
    "contains",
    "minContains",
    "maxContains",
    "maxProperties",
    "propertyNames",
  ),
  ...never("patternProperties", "dependentRequired", "dependentSchemas", "dependencies", "not"),
  ...never("if", "then", "else", "$dynamicRef", "$recursiveRef"),
  ["uniqueItems", false],
  ["minProperties", 0],
  // Nothing beyond what is listed is ever written.
  ["additionalItems", false],
  ["unevaluatedItems", false],
  ["unevaluatedProperties", false],
]);

const types = ["object", "array", "string", "number", "integer", "boolean", "null"] as const;
type Type = (typeof types)[number];

function never(...keywords: readonly string[]): (readonly [string, undefined])[] {
  return keywords.map((keyword) => [keyword, undefined] as const);
}

/** Turns one JSON schema into a shape whose every value is valid by it. Throws `invalid_request` or `unsupported`. */
export class SchemaReader {
  readonly #document: unknown;
  readonly #effort: ReadingEffort;
  readonly #pointers: string[] = [];
  readonly #indices = new Map<string, number>();
  /** What was read as options of which just one may fit. */
  readonly #exclusive: (readonly ValueShape[])[] = [];
  /** The error that says where it stands. */
  #placedError: ServingError | null = null;

  constructor(document: unknown, effort: ReadingEffort) {
    this.#document = document;
    this.#effort = effort;
  }

  read(): OutputShape {
    const root: ValueShape = { kind: "ref", definition: this.#definition("#") };
    const definitions: ValueShape[] = [];
    // Reading one may ask for more.
    for (let index = 0; index < this.#pointers.length; index++) {
      const pointer = this.pointerOf(index);
      definitions.push(this.shapeOf(this.#find(pointer), pointer));
    }
    const circular = findSelfReference(definitions);
    if (circular !== undefined) {
      throw invalidGrammar(`the schema at ${this.pointerOf(circular)} refers to itself`);
    }
    if (!this.#exclusive.every((options) => areDisjoint(options, definitions, this.#effort))) {
      throw unsupportedGrammar("oneOf of options that are not told apart by type or a constant");
    }
    return { root, definitions };
  }

  /** Where a definition stands in the document. */
  pointerOf(index: number): string {
    return this.#pointers[index] ?? "#";
  }

  /** Reads what stands at a place. */
  shapeOf(schema: unknown, place: string): ValueShape {
    try {
      return this.#shapeOf(schema, place);
    } catch (error) {
      if (!(error instanceof ServingError) || error === this.#placedError || place === "#") {
        throw error;
      }
      this.#placedError = placedGrammar(error, place);
      throw this.#placedError;
    }
  }

  #shapeOf(schema: unknown, place: string): ValueShape {
    if (schema === true) return { kind: "any" };
    if (schema === false) throw invalidGrammar("a part of the schema allows nothing");
    if (!isObject(schema)) throw invalidGrammar("a part of the schema is no object");
    const narrowing = narrowingKeywords(schema);
    if (narrowing.has("$ref")) return this.#reference(schema, narrowing);
    if (narrowing.has("const")) return literals([schema.const], schema, narrowing, "const");
    if (narrowing.has("enum")) return literals(listOf(schema, "enum"), schema, narrowing, "enum");
    for (const keyword of ["anyOf", "oneOf", "allOf"] as const) {
      if (narrowing.has(keyword)) return this.#combination(schema, narrowing, keyword, place);
    }
    const [first, ...others] = typesOf(schema, narrowing).map((type) =>
      this.#typed(type, schema, place),
    );
    if (first === undefined) return { kind: "any" };
    return others.length === 0 ? first : { kind: "choice", options: [first, ...others] };
  }

  #typed(type: Type, schema: SchemaObject, place: string): ValueShape {
    const readInner = (inner: unknown, ...path: readonly (string | number)[]) =>
      this.shapeOf(inner, [place, ...path.map(encodePart)].join("/"));
    switch (type) {
      case "object":
        return readObject(schema, readInner);
      case "array":
        return readArray(schema, readInner);
      case "string":
        return readString(schema);
      case "number":
        return readNumber(schema);
      case "integer":
        return readInteger(schema);
      default:
        return { kind: type };
    }
  }

  #reference(schema: SchemaObject, narrowing: ReadonlySet<string>): ValueShape {
    standsAlone(narrowing, "$ref");
    const { $ref } = schema;
    if (typeof $ref !== "string") throw invalidGrammar("a $ref is no text");
    if (!$ref.startsWith("#")) throw unsupportedGrammar(`the $ref ${JSON.stringify($ref)}`);
    return { kind: "ref", definition: this.#definition($ref) };
  }

  #combination(
    schema: SchemaObject,
    narrowing: ReadonlySet<string>,
    keyword: "anyOf" | "oneOf" | "allOf",
    place: string,
  ): ValueShape {
    standsAlone(narrowing, keyword);
    const options = listOf(schema, keyword).map((option, index) =>
      this.shapeOf(option, `${place}/${keyword}/${index}`),
    );
    const [first, second] = options;
    if (first === undefined) throw invalidGrammar(`${keyword} is empty`);
    if (second === undefined) return first;
    if (keyword === "allOf") throw unsupportedGrammar("allOf of several");
    // A value of one option must not be valid by another one too; some may not be read yet.
    if (keyword === "oneOf") this.#exclusive.push(options);
    return { kind: "choice", options };
  }

  #definition(pointer: string): number {
    const known = this.#indices.get(pointer);
    if (known !== undefined) return known;
    const index = this.#pointers.length;
    this.#indices.set(pointer, index);
    this.#pointers.push(pointer);
    return index;
  }

  #find(pointer: string): unknown {
    let found: unknown = this.#document;
    for (const part of pointer.slice(1).split("/").slice(1)) {
      const key = decodePart(part);
      const isThere = typeof found === "object" && found !== null && Object.hasOwn(found, key);
      if (!isThere) throw invalidGrammar(`there is nothing at ${pointer}`);
      found = (found as Record<string, unknown>)[key];
    }
    if (pointer !== "#" && !pointer.startsWith("#/")) {
      throw unsupportedGrammar(`the $ref ${JSON.stringify(pointer)}`);
    }
    return found;
  }
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch (error) {
    throw invalidGrammar("a $ref is no pointer", error);
  }
}

function encodePart(part: string | number): string {
  return String(part).replaceAll("~", "~0").replaceAll("/", "~1");
}

function isObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function narrowingKeywords(schema: SchemaObject): ReadonlySet<string> {
  const narrowing = new Set<string>();
  for (const [keyword, value] of Object.entries(schema)) {
    if (refused.has(keyword) && value !== refused.get(keyword)) throw unsupportedGrammar(keyword);
    if (followed.has(keyword)) narrowing.add(keyword);
  }
  return narrowing;
}

function standsAlone(narrowing: ReadonlySet<string>, keyword: string): void {
  for (const other of narrowing) {
    if (other !== keyword) throw unsupportedGrammar(`${keyword} beside ${other}`);
  }
}

function listOf(schema: SchemaObject, keyword: string): readonly unknown[] {
  const list = schema[keyword];
  if (!Array.isArray(list)) throw invalidGrammar(`${keyword} is no list`);
  return list;
}

function literals(
  values: readonly unknown[],
  schema: SchemaObject,
  narrowing: ReadonlySet<string>,
  keyword: string,
): ValueShape {
  const beside = new Set(narrowing);
  beside.delete("type");
  standsAlone(beside, keyword);
  const wanted = narrowing.has("type") ? typesOf(schema, narrowing) : types;
  const allowed = values.filter((value) => wanted.some((type) => isOfType(value, type)));
  if (allowed.length === 0) throw invalidGrammar(`${keyword} allows nothing`);
  return { kind: "literals", texts: [...new Set(allowed.map((value) => JSON.stringify(value)))] };
}

function isOfType(value: unknown, type: Type): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      // JSON's words for these are JavaScript's.
      return typeof value === type;
  }
}

/** The types that a schema names, or the one that its other keywords speak of. */
function typesOf(schema: SchemaObject, narrowing: ReadonlySet<string>): readonly Type[] {
  const { type } = schema;
  if (type !== undefined) {
    const named: readonly unknown[] = Array.isArray(type) ? type : [type];
    if (named.length === 0) throw invalidGrammar("type is empty");
    return [...new Set(named)].map((name) => {
      const known = types.find((candidate) => candidate === name);
      if (known === undefined) throw invalidGrammar(`${JSON.stringify(name)} is no type`);
      return known;
    });
  }
  const has = (...keywords: readonly string[]): boolean =>
    keywords.some((word) => narrowing.has(word));
  if (has("properties", "required", "additionalProperties")) return ["object"];
  if (has("items", "prefixItems", "minItems", "maxItems")) return ["array"];
  if (has("minLength", "maxLength", "format")) return ["string"];
  return has(...numberBounds) ? ["number"] : [];
}
