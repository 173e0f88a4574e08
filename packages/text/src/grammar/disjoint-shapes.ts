import type { ReadingEffort } from "./reading-effort.ts";
import type { ObjectShape, OutputShape, ValueShape } from "./value-shape.ts";

type Definitions = OutputShape["definitions"];

/** Whether it is plain to see that no value has two of the shapes. False where it is not. */
export function areDisjoint(
  shapes: readonly ValueShape[],
  definitions: Definitions,
  effort: ReadingEffort,
): boolean {
  const comparison = new Comparison(definitions, effort);
  return shapes.every((shape, index) =>
    shapes.slice(index + 1).every((other) => comparison.isApart(shape, other)),
  );
}

class Comparison {
  readonly #definitions: Definitions;
  readonly #effort: ReadingEffort;
  readonly #types = new Map<ValueShape, ReadonlySet<string> | null>();

  constructor(definitions: Definitions, effort: ReadingEffort) {
    this.#definitions = definitions;
    this.#effort = effort;
  }

  isApart(left: ValueShape, right: ValueShape): boolean {
    const [a, b] = [this.#resolve(left), this.#resolve(right)];
    if (a.kind === "choice") return a.options.every((option) => this.isApart(option, b));
    if (b.kind === "choice") return this.isApart(b, a);
    const [types, otherTypes] = [this.#typesOf(a), this.#typesOf(b)];
    if (types === null || otherTypes === null) return false;
    if (![...types].some((type) => otherTypes.has(type))) return true;
    if (a.kind === "literals" && b.kind === "literals") return this.#differ(a.texts, b.texts);
    return a.kind === "object" && b.kind === "object" && this.#isApartByConstant(a, b);
  }

  /** What a chain of references ends at. The reader has refused those without an end. */
  #resolve(shape: ValueShape): ValueShape {
    let found = shape;
    this.#effort.spend(1);
    while (found.kind === "ref") {
      found = this.#definitions[found.definition] ?? { kind: "any" };
      this.#effort.spend(1);
    }
    return found;
  }

  #typesOf(shape: ValueShape): ReadonlySet<string> | null {
    const known = this.#types.get(shape);
    if (known !== undefined) return known;
    const types = typesOf(shape);
    this.#types.set(shape, types);
    return types;
  }

  /** A property that both must have, with other constants in each. */
  #isApartByConstant(a: ObjectShape, b: ObjectShape): boolean {
    this.#effort.spend(a.properties.length + b.properties.length);
    const others = new Map(b.properties.map((property) => [property.name, property]));
    return a.properties.some((property) => {
      const same = others.get(property.name);
      if (same === undefined || !property.isRequired || !same.isRequired) return false;
      const [mine, theirs] = [this.#resolve(property.value), this.#resolve(same.value)];
      if (mine.kind !== "literals" || theirs.kind !== "literals") return false;
      return this.#differ(mine.texts, theirs.texts);
    });
  }

  /** Texts of plain values are their values; one array or object may be written in several ways. */
  #differ(a: readonly string[], b: readonly string[]): boolean {
    this.#effort.spend(a.length + b.length);
    const isPlain = (text: string): boolean => !/^[[{]/.test(text);
    const others = new Set(b);
    return a.every(isPlain) && b.every(isPlain) && !a.some((text) => others.has(text));
  }
}

/** The JSON types of a shape's values; null where it could be any. */
function typesOf(shape: ValueShape): ReadonlySet<string> | null {
  switch (shape.kind) {
    case "any":
    case "choice":
    case "ref":
      return null;
    case "literals":
      return new Set(shape.texts.map((text) => typeOfText(text)));
    case "formatted":
      return new Set(["string"]);
    case "integer":
    case "range":
      return new Set(["number"]);
    default:
      return new Set([shape.kind]);
  }
}

function typeOfText(text: string): string {
  const value: unknown = JSON.parse(text);
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
