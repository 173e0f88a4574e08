/** Reads the grammar of a request. A keyword that narrows the output and cannot be kept to is refused by its name. */

import type { GenerationParams } from "@baton/protocol";
import { invalidGrammar, unsupportedGrammar } from "./grammar-errors.ts";
import { ReadingEffort } from "./reading-effort.ts";
import { SchemaReader } from "./schema-reader.ts";
import { leastDepths, type OutputShape } from "./value-shape.ts";

/** Longer schemas are refused, in UTF-16 units. */
export const maxSchemaLength = 65_536;
/** Most levels of a schema. */
export const maxSchemaDepth = 64;

const anyObject: OutputShape = {
  root: { kind: "object", properties: [], others: { kind: "any" } },
  definitions: [],
};

/**
 * The shape that a grammar asks for. Throws `invalid_request` for what is no schema, or allows nothing, and `unsupported` for what
 * cannot be kept to.
 */
export function readOutputShape(grammar: NonNullable<GenerationParams["grammar"]>): OutputShape {
  if (grammar.kind === "json") return anyObject;
  if (grammar.kind === "json_schema") return readSchema(grammar.schema);
  // What came over the bus may be of a later version.
  throw unsupportedGrammar("a grammar of this kind");
}

function readSchema(text: string): OutputShape {
  if (text.length > maxSchemaLength) {
    throw unsupportedGrammar(`a text of more than ${maxSchemaLength} characters`);
  }
  const document = parse(text);
  if (nestingOf(document) > maxSchemaDepth) {
    throw unsupportedGrammar(`nesting deeper than ${maxSchemaDepth}`);
  }
  const effort = new ReadingEffort();
  const reader = new SchemaReader(document, effort);
  const shape = reader.read();
  const depths = leastDepths(shape.definitions, (steps) => effort.spend(steps));
  for (const [index, depth] of depths.entries()) {
    if (depth === Number.POSITIVE_INFINITY) {
      throw invalidGrammar(
        `nothing that ends is valid by the schema at ${reader.pointerOf(index)}`,
      );
    }
  }
  return shape;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidGrammar("the schema is no JSON", error);
  }
}

/** How deep arrays and objects lie in each other. Without recursion, since a client chooses the depth. */
function nestingOf(document: unknown): number {
  let level: unknown[] = [document];
  let depth = 0;
  while (level.length > 0) {
    const inner: unknown[] = [];
    for (const value of level) {
      if (typeof value === "object" && value !== null) inner.push(...Object.values(value));
    }
    if (inner.length > 0) depth += 1;
    level = inner;
  }
  return depth;
}
