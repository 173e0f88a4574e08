import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Endpoint } from "../../src/http/parse-body.ts";
import { refusalOf } from "../support/bodies.ts";
import { fieldsOf, leastBodies, schemas } from "../support/body-arbitrary.ts";
import { type FieldSchema, wrongValues } from "../support/wrong-values.ts";

const endpoints: readonly Endpoint[] = ["chat", "completions", "generate"];

/** Words of the library, of the language, and of nobody who writes a client. */
const internals =
  /zod|schema validation|invalid[_ ](?:type|input|value|union)|expected|received|undefined|NaN|\[object|Infinity|regex|pattern|constructor|prototype|TypeError/i;

const fields = endpoints.flatMap((endpoint) =>
  fieldsOf(schemas[endpoint]).map((field) => [endpoint, field] as const),
);

function schemaOf(endpoint: Endpoint, field: string): FieldSchema {
  const { properties } = z.toJSONSchema(schemas[endpoint], { io: "input", unrepresentable: "any" });
  return (properties?.[field] ?? {}) as FieldSchema;
}

/** Code, field and words of a refusal; null if the body is taken. */
function refusal(endpoint: Endpoint, field: string, value: unknown) {
  const text = refusalOf(endpoint, { ...leastBodies[endpoint], [field]: value });
  const parts = /^(\w+) (.+?): (.+)$/s.exec(text);
  return parts === null ? null : { code: parts[1], param: parts[2] ?? "", message: parts[3] ?? "" };
}

describe("every field of every body", () => {
  it.each(fields)(
    "of %s: %s is refused by name for every kind of wrong value",
    (endpoint, field) => {
      const wrong = wrongValues(schemaOf(endpoint, field), field);

      for (const { path, value } of wrong) {
        const told = refusal(endpoint, field, value);
        const shown = JSON.stringify([path, value, told]).slice(0, 300);
        expect(told?.code, shown).toBe("invalid_request");
        // Of a list of token ids the place is told in words.
        expect(told?.param === field || told?.param.startsWith(path), shown).toBe(true);
        expect(told?.message, shown).toContain(told?.param);
        expect(told?.message.replaceAll(told.param, ""), shown).not.toMatch(internals);
      }
      expect(wrong.length).toBeGreaterThan(0);
    },
  );

  it.each(fields)("of %s: %s is taken or refused by name, whatever it is", (endpoint, field) => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        const told = refusal(endpoint, field, value);
        if (told === null) return;
        expect(["invalid_request", "unsupported"]).toContain(told.code);
        // What one field lacks may be another's.
        const isOwn = told.param.startsWith(field) || told.message.includes(field);
        expect(isOwn || field === "stream", JSON.stringify([value, told])).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it.each(fields)("of %s: %s may be null if it may be absent", (endpoint, field) => {
    const isRequired = Object.hasOwn(leastBodies[endpoint], field);
    const isOptional = endpoint === "generate" && field === "model";

    expect(refusal(endpoint, field, null)).toEqual(
      isRequired || isOptional
        ? { code: "invalid_request", param: field, message: `${field} is required` }
        : null,
    );
  });
});
