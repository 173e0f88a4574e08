import { expect, it } from "vitest";
import { StepOutputs } from "../src/step-outputs.ts";
import { requestOf } from "./support/builders.ts";

it("counts only what was added since it was cleared, in the arrays that it had", () => {
  const outputs = new StepOutputs();
  const request = requestOf();
  const { tokens } = outputs;
  outputs.add(request, 0, 0, 5, undefined);
  outputs.add(request, 1, 0, 6, "eos");
  outputs.clear();

  outputs.add(request, 2, 3, 7, "length");

  expect(outputs.count).toBe(1);
  expect(outputs.tokens).toBe(tokens);
  expect([outputs.choices[0], outputs.positions[0], tokens[0], outputs.finishes[0]]).toEqual([
    2,
    3,
    7,
    "length",
  ]);
});
