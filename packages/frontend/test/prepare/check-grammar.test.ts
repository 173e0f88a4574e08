import { describe, expect, it, vi } from "vitest";
import { GrammarCheck } from "../../src/prepare/check-grammar.ts";
import type { WantedOutput } from "../../src/request/serving-request.ts";

const outputOf = (schema: object): WantedOutput => ({
  maxTokens: 1,
  n: 1,
  grammar: { kind: "json_schema", schema: JSON.stringify(schema) },
});

describe("the check of a grammar", () => {
  it.each([
    ["unsupported", { type: "number", minimum: 3 }, "minimum"],
    ["unsupported", { allOf: [{ type: "object" }, { type: "object" }] }, "allOf"],
    ["invalid_request", { enum: [] }, "enum"],
    ["invalid_request", { $ref: "#/$defs/none" }, "nothing at"],
  ])("refuses as %s what no engine keeps to: %j", (code, schema, problem) => {
    expect(() => new GrammarCheck().check(outputOf(schema))).toThrowError(
      expect.objectContaining({
        code,
        details: { param: "response_format", problem: expect.stringContaining(problem) },
      }),
    );
  });

  it("takes what engines keep to, any JSON, and an output without a grammar", () => {
    const check = new GrammarCheck();

    check.check(outputOf({ type: "object", properties: { a: { type: "string" } } }));
    check.check({ maxTokens: 1, n: 1, grammar: { kind: "json" } });
    check.check({ maxTokens: 1, n: 1 });
  });

  it("reads the grammar that the prompts of one body share just once", () => {
    const read = vi.spyOn(JSON, "parse");
    const check = new GrammarCheck();
    const output = outputOf({ type: "null" });

    for (let prompt = 0; prompt < 64; prompt += 1) check.check(output);

    expect(read).toHaveBeenCalledTimes(1);
    read.mockRestore();
  });
});
