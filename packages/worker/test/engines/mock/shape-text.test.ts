import { readOutputShape } from "@baton/text";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { shapePieces } from "../../../src/engines/mock/shape-text.ts";

const voice = (promptHash: number, words = 3) => ({
  promptHash,
  words,
  wordAt: (index: number) => `${index === 0 ? "" : " "}word-${index}`,
});

function textOf(schema: unknown, promptHash = 7, words = 3): string {
  const shape = readOutputShape({ kind: "json_schema", schema: JSON.stringify(schema) });
  const pieceAt = shapePieces(shape, voice(promptHash, words));
  let text = "";
  for (let index = 0; ; index++) {
    const piece = pieceAt(index);
    if (piece === undefined) return text;
    expect(piece).not.toBe("");
    text += piece;
  }
}

const person = {
  type: "object",
  properties: {
    name: { type: "string" },
    age: { type: "integer" },
    tags: { type: "array", items: { type: "string" }, minItems: 2 },
    home: { anyOf: [{ $ref: "#/$defs/place" }, { type: "null" }] },
  },
  required: ["name", "age", "tags", "home"],
  additionalProperties: false,
  $defs: {
    place: {
      type: "object",
      properties: {
        city: { type: "string", minLength: 30, maxLength: 31 },
        at: { type: "number" },
      },
      required: ["city"],
      additionalProperties: false,
    },
  },
};
const tree = {
  type: "object",
  properties: {
    left: { anyOf: [{ $ref: "#" }, { type: "null" }] },
    right: { anyOf: [{ $ref: "#" }, { type: "null" }] },
    more: { $ref: "#" },
  },
  required: ["left", "right"],
};

describe("shapePieces", () => {
  it("writes the mock text into an object where any will do", () => {
    const pieceAt = shapePieces(readOutputShape({ kind: "json" }), voice(1));
    const pieces = Array.from({ length: 8 }, (_, index) => pieceAt(index));

    expect(pieces.join("")).toBe('{"text":"word-0 word-1 word-2"}');
  });

  it.each([
    [person],
    [tree],
    [{ type: "boolean" }],
    [{ enum: ["a", 2, null] }],
    [{ type: "string", format: "date" }],
    [{ type: "string", format: "date-time" }],
    [{ type: "string", format: "uuid" }],
    [{ type: "string", maxLength: 0 }],
    [{ type: "string", maxLength: 4 }],
    [{ type: "string", minLength: 200 }],
    [{ type: "array", prefixItems: [{ type: "integer" }, { type: "null" }], items: false }],
    [{ type: "array", items: { type: "number" }, maxItems: 0 }],
    [{ type: "array", items: { type: "integer" }, minItems: 5, maxItems: 5 }],
    [{ type: "object", additionalProperties: { type: "integer" } }],
    [{ type: "object", additionalProperties: false }],
    [{ oneOf: [{ type: "null" }, { type: "string" }] }],
  ])("makes up a value that is valid by %j, whatever the prompt", (schema) => {
    const validator = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    for (const promptHash of [0, 1, 12_345, 0xfffffffe, 0xffffffff]) {
      const value: unknown = JSON.parse(textOf(schema, promptHash));

      expect(validator.safeParse(value).error).toBeUndefined();
    }
  });

  it("counts only in the first string without bounds", () => {
    const schema = { properties: { a: { type: "string" }, b: { type: "string" } } };

    expect(JSON.parse(textOf(schema, 7, 40))).toEqual({
      a: Array.from({ length: 40 }, (_, index) => `word-${index}`).join(" "),
      b: "word-0 word-1",
    });
  });

  it("writes no words where there is no such string", () => {
    expect(textOf({ type: "integer" }, 7, 100)).toBe("7");
    expect(textOf({ type: "integer", minimum: 1, maximum: 9 }, 7, 100)).toBe("7");
    expect(textOf({ type: "integer", minimum: -2, maximum: 2 }, 7, 100)).toBe("0");
  });

  it("refuses a value that must be huge", () => {
    const $defs: Record<string, unknown> = { d0: { type: "null" } };
    for (let i = 1; i < 40; i++) {
      const ref = { $ref: `#/$defs/d${i - 1}` };
      $defs[`d${i}`] = { properties: { a: ref, b: ref }, required: ["a", "b"] };
    }

    expect(() => textOf({ $ref: "#/$defs/d39", $defs })).toThrowError(
      expect.objectContaining({ code: "unsupported" }),
    );
  });
});
