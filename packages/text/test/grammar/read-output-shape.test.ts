import { describe, expect, it } from "vitest";
import { readOutputShape } from "../../src/grammar/read-output-shape.ts";

const read = (schema: unknown) =>
  readOutputShape({ kind: "json_schema", schema: JSON.stringify(schema) });

describe("readOutputShape", () => {
  it("asks for any object where only JSON is wanted", () => {
    expect(readOutputShape({ kind: "json" }).root).toMatchObject({
      kind: "object",
      others: { kind: "any" },
    });
  });

  it("reads a schema", () => {
    expect(read({ type: "null" }).definitions).toEqual([{ kind: "null" }]);
  });

  it.each([
    ["unsupported", "nesting", JSON.parse(`${'{"not":'.repeat(70)}{}${"}".repeat(70)}`)],
    ["unsupported", "characters", { description: "x".repeat(70_000) }],
    ["invalid_request", "nothing that ends", { properties: { a: { $ref: "#" } }, required: ["a"] }],
    ["invalid_request", "nothing that ends", { items: { $ref: "#" }, minItems: 1 }],
  ])("refuses as %s: %s", (code, what, schema) => {
    expect(() => read(schema)).toThrowError(
      expect.objectContaining({
        code,
        details: { param: "response_format", problem: expect.stringContaining(what) },
      }),
    );
  });

  it("refuses what is no JSON, and a kind that it does not know", () => {
    expect(() => readOutputShape({ kind: "json_schema", schema: "{" })).toThrow(/no JSON/);
    expect(() => readOutputShape({ kind: "regex" } as never)).toThrow(/this kind/);
  });

  it("reads a schema whose definitions need each other a thousandfold, in their worst order", () => {
    const $defs: Record<string, unknown> = { d0: { type: "null" } };
    for (let i = 1; i < 600; i++) {
      const ref = { $ref: `#/$defs/d${i - 1}` };
      $defs[`d${i}`] = { properties: { a: ref, b: ref }, required: ["a", "b"] };
    }

    expect(read({ $ref: "#/$defs/d599", $defs }).definitions).toHaveLength(601);
  });

  it("refuses a short schema whose options would be compared without end", () => {
    const $defs: Record<string, unknown> = { a0: { type: "null" }, b0: { type: "string" } };
    for (let i = 1; i < 40; i++) {
      for (const name of ["a", "b"]) {
        const ref = { $ref: `#/$defs/${name}${i - 1}` };
        $defs[`${name}${i}`] = { anyOf: [ref, ref] };
      }
    }

    expect(() =>
      read({ oneOf: [{ $ref: "#/$defs/a39" }, { $ref: "#/$defs/b39" }], $defs }),
    ).toThrow(/tangle/);
  });

  it("compares a hundred objects that a constant tells apart", () => {
    const oneOf = Array.from({ length: 100 }, (_, index) => ({
      properties: { kind: { const: `k${index}` } },
      required: ["kind"],
    }));

    expect(read({ oneOf }).root).toEqual({ kind: "ref", definition: 0 });
  });
});
