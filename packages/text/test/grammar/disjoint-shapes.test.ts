import { describe, expect, it } from "vitest";
import { areDisjoint } from "../../src/grammar/disjoint-shapes.ts";
import { ReadingEffort } from "../../src/grammar/reading-effort.ts";
import type { ValueShape } from "../../src/grammar/value-shape.ts";

const literals = (...values: unknown[]): ValueShape => ({
  kind: "literals",
  texts: values.map((value) => JSON.stringify(value)),
});
const tagged = (value: ValueShape, isRequired = true): ValueShape => ({
  kind: "object",
  properties: [{ name: "kind", value, isRequired }],
  others: null,
});
const string: ValueShape = { kind: "string", minLength: 0, maxLength: null };
const ref = (definition: number): ValueShape => ({ kind: "ref", definition });
const definitions = [tagged(literals("cat")), tagged(literals("dog")), ref(0), literals("cat")];

const isDisjoint = (shapes: ValueShape[]) => areDisjoint(shapes, definitions, new ReadingEffort());

describe("areDisjoint", () => {
  it.each<[string, ValueShape[]]>([
    ["types", [{ kind: "integer" }, string, { kind: "null" }]],
    ["constants", [literals("a"), literals("b", 1), literals(null)]],
    ["types of constants", [literals("a", 1), { kind: "boolean" }]],
    ["a constant that both must have", [tagged(literals("a")), tagged(literals("b"))]],
    ["definitions", [ref(0), ref(1)]],
    ["definitions of definitions", [ref(2), ref(1)]],
    ["a constant that is a definition", [tagged(ref(3)), ref(1)]],
    [
      "every option of a choice",
      [{ kind: "choice", options: [{ kind: "null" }, literals(1)] }, string],
    ],
    ["nothing, alone", [{ kind: "any" }]],
  ])("sees shapes that are told apart by %s", (_what, shapes) => {
    expect(isDisjoint(shapes)).toBe(true);
    expect(isDisjoint([...shapes].reverse())).toBe(true);
  });

  it.each<[string, ValueShape[]]>([
    ["integers are numbers", [{ kind: "integer" }, { kind: "number" }]],
    ["so are some of them", [{ kind: "range", min: 1, max: 2 }, { kind: "number" }]],
    ["anything is a text, too", [{ kind: "any" }, string]],
    ["a date is a text", [{ kind: "formatted", format: "date" }, string]],
    ["a constant is in both", [literals("a"), literals("b", "a")]],
    ["one object has many texts", [literals({ a: 1 }), literals({ b: 1 })]],
    ["the constant may be left out", [tagged(literals("a"), false), tagged(literals("b"))]],
    ["the text may be the constant", [tagged(literals("a")), tagged(string)]],
    ["the definitions are the same", [ref(0), ref(2)]],
    [
      "one option of a choice is a text",
      [{ kind: "choice", options: [{ kind: "null" }, string] }, string],
    ],
  ])("does not where %s", (_why, shapes) => {
    expect(isDisjoint(shapes)).toBe(false);
    expect(isDisjoint([...shapes].reverse())).toBe(false);
  });
});
