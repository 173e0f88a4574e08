import { describe, expect, it } from "vitest";
import { mayNeedNfc, NfcPieces } from "../../src/encode/nfc.ts";
import { textOfUnits } from "../../src/encode/text-units.ts";

function unitsOf(text: string): Uint16Array {
  return Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
}

function normalize(text: string): { text: string; steps: number } {
  const pieces = new NfcPieces(text);
  for (let steps = 1; ; steps += 1) {
    const units = pieces.step();
    if (units !== undefined) {
      return { text: textOfUnits(units, 0, units.length), steps };
    }
  }
}

describe("mayNeedNfc", () => {
  it("is false only for text that is in form C for sure", () => {
    expect(mayNeedNfc(unitsOf("plain é ÿ"), 0, 9)).toBe(false);
    expect(mayNeedNfc(unitsOf("e\u0301"), 0, 2)).toBe(true);
    expect(mayNeedNfc(unitsOf("e\u0301"), 0, 1)).toBe(false);
  });
});

describe("NfcPieces", () => {
  it.each([
    ["words", "cafe\u0301 und zu\u0308rich "],
    ["Hangul", "\u1112\u1161\u11ab 한 "],
    ["Han", "字\u3099字か\u3099"],
    ["kana", "か\u3099ハ\u309aぱ"],
    ["emoji", "😀👩‍👩‍👧‍👦"],
    ["Arabic", "\u0627\u0653\u0639\u0644"],
    ["lone surrogates", "字\ud83d\u0301字\udc00"],
  ])("gives what normalizing at once gives, for long %s", (_, unit) => {
    const text = unit.repeat(20_000);
    const normalized = normalize(text);
    expect(normalized.text === text.normalize("NFC").toWellFormed()).toBe(true);
    expect(normalized.steps).toBeGreaterThan(1);
  });

  it("does not cut where characters may combine", () => {
    const text = "e\u0301\u0323".concat("\u0301".repeat(50_000));
    expect(normalize(text)).toEqual({ text: text.normalize("NFC"), steps: 1 });
  });
});
