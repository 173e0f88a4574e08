import { describe, expect, it } from "vitest";
import { leastDepth, leastDepths, type ValueShape } from "../../src/grammar/value-shape.ts";

const leaf: ValueShape = { kind: "null" };
const ref = (definition: number): ValueShape => ({ kind: "ref", definition });
const object = (value: ValueShape, isRequired = true): ValueShape => ({
  kind: "object",
  properties: [{ name: "a", value, isRequired }],
  others: null,
});
const list = (rest: ValueShape, minRest: number, prefix: ValueShape[] = []): ValueShape => ({
  kind: "array",
  prefix,
  rest,
  minRest,
  maxRest: null,
});
const never = Number.POSITIVE_INFINITY;

describe("leastDepth", () => {
  it.each<[ValueShape, number]>([
    [leaf, 0],
    [{ kind: "object", properties: [], others: leaf }, 0],
    [object(leaf), 1],
    [object(object(leaf)), 2],
    [object(object(leaf), false), 0],
    [list(object(leaf), 0), 0],
    [list(object(leaf), 1), 2],
    [list(leaf, 0, [object(leaf)]), 2],
    [{ kind: "choice", options: [object(leaf), leaf] }, 0],
    [ref(0), 5],
    [ref(9), never],
  ])("of %j is %d", (shape, depth) => {
    expect(leastDepth(shape, [5])).toBe(depth);
  });
});

describe("leastDepths", () => {
  it("settles definitions that need each other, in whatever order they stand", () => {
    expect(leastDepths([object(ref(1)), object(ref(2)), leaf])).toEqual([2, 1, 0]);
    expect(leastDepths([leaf, object(ref(0)), object(ref(1))])).toEqual([0, 1, 2]);
  });

  it("is infinite for one that needs itself, but not for one that may end", () => {
    expect(leastDepths([object(ref(0))])).toEqual([never]);
    expect(leastDepths([object(ref(1)), object(ref(0))])).toEqual([never, never]);
    expect(leastDepths([object({ kind: "choice", options: [ref(0), leaf] })])).toEqual([1]);
  });
});
