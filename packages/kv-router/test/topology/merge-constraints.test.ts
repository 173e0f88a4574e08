import fc from "fast-check";
import { expect, it } from "vitest";
import { mergeConstraints, satisfies } from "../../src/index.ts";

it("requires what either requires and lets the later weight win", () => {
  expect(
    mergeConstraints(
      { requiredTaints: ["a", "b"], preferredTaints: { x: 0.1, y: 0.2 } },
      { requiredTaints: ["b", "c"], preferredTaints: { y: 0.9 } },
    ),
  ).toEqual({ requiredTaints: ["a", "b", "c"], preferredTaints: { x: 0.1, y: 0.9 } });
});

it("keeps the one side when the other says nothing", () => {
  const constraints = { requiredTaints: ["a"], preferredTaints: { x: 1 } };

  expect(mergeConstraints(constraints, undefined)).toEqual(constraints);
  expect(mergeConstraints(undefined, constraints)).toEqual(constraints);
  expect(mergeConstraints(undefined, undefined)).toEqual({
    requiredTaints: [],
    preferredTaints: {},
  });
});

it("is satisfied exactly by those who satisfy both", () => {
  const taints = fc.subarray(["a", "b", "c", "d"]);
  fc.assert(
    fc.property(taints, taints, taints, (left, right, own) => {
      const one = { requiredTaints: left, preferredTaints: {} };
      const other = { requiredTaints: right, preferredTaints: {} };
      const has = new Set(own);

      expect(satisfies(has, mergeConstraints(one, other))).toBe(
        satisfies(has, one) && satisfies(has, other),
      );
    }),
  );
});
