import { describe, expect, it } from "vitest";
import { mayNeedNfc, NfcPieces } from "../../src/encode/nfc.ts";
import { orderMarks } from "../../src/encode/order-marks.ts";
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

  it.each([
    ["marks of one class", `e\u0301\u0323${"\u0301".repeat(30_000)}`],
    ["marks of two classes", `e${"\u0301\u0316".repeat(12_000)}a`],
    ["marks that are several", `${"\u0344\u0f73".repeat(12_000)}e\u0301`],
    ["marks before anything", `${"\u0300\u0323".repeat(12_000)}o\u0323`],
    ["marks that are starters", "\u0e31\u0e34".repeat(12_000)],
    ["starters that combine", `${"\u0dd9\u0dcf".repeat(12_000)}x`],
    ["letters that are several", "\u00e9\u1e69".repeat(12_000)],
    ["jamo without a beginning", "\u1161\u11a8".repeat(12_000)],
    ["pairs of surrogates", "\u{1d15f}\u{11099}\u{110ba}".repeat(8_000)],
    ["lone surrogates", `\u0e31${"\ud834\u0301".repeat(12_000)}`],
  ])("takes %s in steps where nothing can be cut for long", (_, text) => {
    // In order before the engine sorts them: it would take seconds.
    const expected = orderMarks(text).normalize("NFC").toWellFormed();
    const normalized = normalize(text);
    expect(normalized.text === expected).toBe(true);
    expect(normalized.steps).toBeGreaterThan(4);
  });
});
