import { expect, it } from "vitest";
import { defaultPrefillDuration, noPrefillDuration } from "../../src/index.ts";
import { prefillMs } from "../../src/load/prefill-duration.ts";

it("is unknown without a model", () => {
  expect(prefillMs(noPrefillDuration, 100)).toBeNull();
});

it("is a polynomial of the tokens to compute, and nothing for none", () => {
  const model = { kind: "polynomial", quadratic: 0.5, linear: 2, constant: 3 } as const;

  expect([0, 1, 4].map((tokens) => prefillMs(model, tokens))).toEqual([0, 5.5, 19]);
  expect(prefillMs(defaultPrefillDuration, 1_000)).toBeCloseTo(0.4209989 + 15.18344 + 16.50142, 9);
});
