/** Which JSON values an output may be, as engines can keep to it. Read from a request's grammar by `readOutputShape`. */

/** What kind of text a string must be. */
export type StringFormat = "date" | "time" | "date-time" | "uuid";

/** The greatest integer of an output, and the least without its sign: fifteen digits, which any reader keeps exactly. */
export const maxWholeNumber = 999_999_999_999_999;

export type ValueShape =
  /** Any JSON value. */
  | { readonly kind: "any" }
  /** One of these values, as JSON text; at least one. */
  | { readonly kind: "literals"; readonly texts: readonly string[] }
  /** Lengths are in Unicode code points; null is without bound. */
  | { readonly kind: "string"; readonly minLength: number; readonly maxLength: number | null }
  | { readonly kind: "formatted"; readonly format: StringFormat }
  | { readonly kind: "number" | "integer" | "boolean" | "null" }
  /** An integer from `min` to `max`, both included and of at most fifteen digits. */
  | { readonly kind: "range"; readonly min: number; readonly max: number }
  | ObjectShape
  | ArrayShape
  | { readonly kind: "choice"; readonly options: readonly ValueShape[] }
  /** The definition of this index. */
  | { readonly kind: "ref"; readonly definition: number };

/** An object with these properties in this order, or, without any, with whatever keys. */
export interface ObjectShape {
  readonly kind: "object";
  readonly properties: readonly PropertyShape[];
  /** What the values of an object without `properties` are; null if it must be empty. */
  readonly others: ValueShape | null;
}

export interface PropertyShape {
  readonly name: string;
  readonly value: ValueShape;
  readonly isRequired: boolean;
}

/** An array: first the items of `prefix`, all of them, then `minRest` to `maxRest` more, null without bound. */
export interface ArrayShape {
  readonly kind: "array";
  readonly prefix: readonly ValueShape[];
  readonly rest: ValueShape;
  readonly minRest: number;
  readonly maxRest: number | null;
}

/** The shape of a whole output. */
export interface OutputShape {
  readonly root: ValueShape;
  readonly definitions: readonly ValueShape[];
}

/**
 * How deep the shallowest value of a shape is nested: 0 for a plain value, infinite if there is none that ends. `definitionDepths`
 * are those of the definitions.
 */
export function leastDepth(shape: ValueShape, definitionDepths: readonly number[]): number {
  const below = (inner: ValueShape): number => leastDepth(inner, definitionDepths);
  switch (shape.kind) {
    case "object": {
      const required = shape.properties.filter((property) => property.isRequired);
      return 1 + Math.max(-1, ...required.map(({ value }) => below(value)));
    }
    case "array": {
      const items = shape.minRest > 0 ? [...shape.prefix, shape.rest] : shape.prefix;
      return 1 + Math.max(-1, ...items.map(below));
    }
    case "choice":
      return Math.min(...shape.options.map(below));
    case "ref":
      return definitionDepths[shape.definition] ?? Number.POSITIVE_INFINITY;
    default:
      return 0;
  }
}

/** `leastDepth` of each definition. `spend` is told of each step, and may throw. */
export function leastDepths(
  definitions: readonly ValueShape[],
  spend: (steps: number) => void = () => undefined,
): number[] {
  const depths = definitions.map(() => Number.POSITIVE_INFINITY);
  const parts = definitions.map(partsOf);
  const usedBy = usersOf(parts);
  // What a definition needs mostly stands behind it. A set goes on with what is added while it is walked.
  const open = new Set([...definitions.keys()].reverse());
  for (const index of open) {
    open.delete(index);
    spend(parts[index]?.length ?? 0);
    const depth = leastDepth(definitions[index] ?? { kind: "any" }, depths);
    if (depth >= (depths[index] ?? 0)) continue;
    depths[index] = depth;
    for (const user of usedBy[index] ?? []) open.add(user);
  }
  return depths;
}

/** For each definition, those that refer to it. */
function usersOf(parts: readonly (readonly ValueShape[])[]): readonly (readonly number[])[] {
  const usedBy: number[][] = parts.map(() => []);
  for (const [index, shapes] of parts.entries()) {
    for (const part of shapes) if (part.kind === "ref") usedBy[part.definition]?.push(index);
  }
  return usedBy;
}

/** A shape and all that lies in it, as far as its references. */
function partsOf(shape: ValueShape): readonly ValueShape[] {
  const parts = [shape];
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at];
    if (part?.kind === "choice") parts.push(...part.options);
    else if (part?.kind === "array") parts.push(...part.prefix, part.rest);
    else if (part?.kind === "object") parts.push(...part.properties.map(({ value }) => value));
  }
  return parts;
}
