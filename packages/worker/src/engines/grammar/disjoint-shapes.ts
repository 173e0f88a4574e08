import type { ObjectShape, OutputShape, ValueShape } from "./value-shape.ts";

type Definitions = OutputShape["definitions"];

/** Whether it is plain to see that no value has two of the shapes. False where it is not. */
export function areDisjoint(shapes: readonly ValueShape[], definitions: Definitions): boolean {
  return shapes.every((shape, index) =>
    shapes.slice(index + 1).every((other) => isApart(shape, other, definitions)),
  );
}

function isApart(left: ValueShape, right: ValueShape, definitions: Definitions): boolean {
  const [a, b] = [resolve(left, definitions), resolve(right, definitions)];
  if (a.kind === "choice") return a.options.every((option) => isApart(option, b, definitions));
  if (b.kind === "choice") return isApart(b, a, definitions);
  const [types, otherTypes] = [typesOf(a), typesOf(b)];
  if (types === null || otherTypes === null) return false;
  if (!types.some((type) => otherTypes.includes(type))) return true;
  if (a.kind === "literals" && b.kind === "literals") return isApartByText(a.texts, b.texts);
  return a.kind === "object" && b.kind === "object" && isApartByConstant(a, b, definitions);
}

/** What a chain of references ends at. The reader has refused those without an end. */
function resolve(shape: ValueShape, definitions: Definitions): ValueShape {
  let found = shape;
  while (found.kind === "ref") found = definitions[found.definition] ?? { kind: "any" };
  return found;
}

/** The JSON types of a shape's values; null where it could be any. */
function typesOf(shape: ValueShape): readonly string[] | null {
  switch (shape.kind) {
    case "any":
    case "choice":
    case "ref":
      return null;
    case "literals":
      return shape.texts.map((text) => typeOfText(text));
    case "formatted":
      return ["string"];
    case "integer":
      return ["number"];
    default:
      return [shape.kind];
  }
}

function typeOfText(text: string): string {
  const value: unknown = JSON.parse(text);
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** A property that both must have, with other constants in each. */
function isApartByConstant(a: ObjectShape, b: ObjectShape, definitions: Definitions): boolean {
  return a.properties.some((property) => {
    const same = b.properties.find(({ name }) => name === property.name);
    if (same === undefined || !property.isRequired || !same.isRequired) return false;
    const [mine, theirs] = [resolve(property.value, definitions), resolve(same.value, definitions)];
    if (mine.kind !== "literals" || theirs.kind !== "literals") return false;
    return isApartByText(mine.texts, theirs.texts);
  });
}

/** Texts of plain values are their values; one array or object may be written in several ways. */
function isApartByText(a: readonly string[], b: readonly string[]): boolean {
  const isPlain = (text: string): boolean => !/^[[{]/.test(text);
  return a.every(isPlain) && b.every(isPlain) && !a.some((text) => b.includes(text));
}
