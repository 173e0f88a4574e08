import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { copyUnits, textOfUnits } from "../../src/encode/text-units.ts";

describe("the units of a text", () => {
  it("are its own, lone surrogates replaced, wherever copying is interrupted", () => {
    const texts = fc.array(fc.oneof(fc.nat(0xffff), fc.integer({ min: 0xd7ff, max: 0xe000 })), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(texts, fc.nat(30), (codes, cut) => {
        const text = String.fromCharCode(...codes);
        const middle = Math.min(cut, text.length);
        const units = new Uint16Array(text.length);
        copyUnits(text, middle, text.length, units, middle);
        copyUnits(text, 0, middle, units, 0);
        expect(textOfUnits(units, 0, units.length)).toBe(Buffer.from(text).toString());
      }),
    );
  });

  it("make a text of any length", () => {
    const text = "abc".repeat(10_000);
    const units = new Uint16Array(text.length);
    copyUnits(text, 0, text.length, units, 0);
    expect(textOfUnits(units, 1, text.length)).toBe(text.slice(1));
  });
});
