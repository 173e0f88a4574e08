import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { duplicateKey } from "../../src/http/duplicate-key.ts";
import { parseJson } from "../../src/http/parse-json.ts";

/** JSON with its keys and spaces at random, as text, and whether an object of it has a key twice. */
interface Written {
  readonly text: string;
  readonly isTwice: boolean;
}

const space = fc.constantFrom("", " ", "\n\t", "  \r");
const key = fc.constantFrom("a", "b", 'c"', "d\\", "é", "", "{", ":", "__proto__");
const leaf = fc.oneof(
  fc.string({ unit: "binary" }).map((value) => JSON.stringify(value)),
  fc.constantFrom("0", "null", "true", "-1.5e3", '"\\":"', '"[{"'),
);

const { value } = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf.map((text) => ({ text, isTwice: false })),
    fc.tuple(fc.array(tie("value"), { maxLength: 4 }), space).map(([values, gap]) => ({
      text: `[${gap}${values.map(({ text }) => text + gap).join(`,${gap}`)}]`,
      isTwice: values.some(({ isTwice }) => isTwice),
    })),
    fc
      .tuple(fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }), space)
      .map(([entries, gap]) => ({
        text: `{${gap}${entries
          .map(([name, { text }]) => `${JSON.stringify(name)}${gap}:${gap}${text}${gap}`)
          .join(`,${gap}`)}}`,
        isTwice:
          new Set(entries.map(([name]) => name)).size < entries.length ||
          entries.some(([, { isTwice }]) => isTwice),
      })),
  ),
}));

describe("a key that stands twice", () => {
  it("is found in any object, and nowhere else", () => {
    fc.assert(
      fc.property(value, ({ text, isTwice }) => {
        expect(duplicateKey(text) !== null).toBe(isTwice);
        if (isTwice) expect(() => parseJson(text)).toThrow(/stands twice/);
        else if (/"__proto__"\s*:/.test(text))
          expect(() => parseJson(text)).toThrow(/no key may be/);
        else expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 1_000 },
    );
  });
});
