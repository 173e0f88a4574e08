import { expect, it } from "vitest";
import { findSelfReference } from "../../src/grammar/self-references.ts";
import type { ValueShape } from "../../src/grammar/value-shape.ts";

const ref = (definition: number): ValueShape => ({ kind: "ref", definition });
const either = (...options: ValueShape[]): ValueShape => ({ kind: "choice", options });
const inObject = (value: ValueShape): ValueShape => ({
  kind: "object",
  properties: [{ name: "a", value, isRequired: true }],
  others: null,
});

it.each<[string, ValueShape[], number | undefined]>([
  ["itself", [ref(0)], 0],
  ["itself as one of two", [{ kind: "null" }, either({ kind: "null" }, ref(1))], 1],
  ["itself by way of others", [ref(1), either(ref(2), { kind: "null" }), ref(0)], 0],
  ["others that lead round", [ref(1), ref(2), ref(1)], 1],
  ["others only", [either(ref(1), ref(2)), ref(2), { kind: "null" }], undefined],
  ["itself inside of an object", [inObject(ref(0))], undefined],
  ["nothing that is there", [ref(7)], undefined],
])("sees a definition that leads to %s", (_what, definitions, found) => {
  expect(findSelfReference(definitions)).toBe(found);
});
