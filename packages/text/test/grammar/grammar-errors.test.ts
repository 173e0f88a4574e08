import { expect, it } from "vitest";
import {
  invalidGrammar,
  placedGrammar,
  unsupportedGrammar,
} from "../../src/grammar/grammar-errors.ts";

it("names the client's field, and what of it", () => {
  const cause = new Error("why");
  expect(invalidGrammar("the schema is no JSON", cause)).toMatchObject({
    code: "invalid_request",
    details: { param: "response_format", problem: "the schema is no JSON" },
    cause,
  });
  expect(unsupportedGrammar("pattern")).toMatchObject({
    code: "unsupported",
    details: { param: "response_format", problem: "pattern is not supported in a JSON schema" },
  });
});

it("says where in the schema", () => {
  const cause = new Error("why");
  expect(placedGrammar(invalidGrammar("enum is no list", cause), "#/properties/a")).toMatchObject({
    code: "invalid_request",
    message: "enum is no list, at #/properties/a",
    details: { param: "response_format" },
    cause,
  });
});
