import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { orderMarks } from "../../src/encode/order-marks.ts";
import { visitCategoryRuns } from "../../src/unicode/unicode-ranges.ts";

const marks: string[] = [];
visitCategoryRuns((category, { first, last }) => {
  for (let codePoint = first; category.startsWith("M") && codePoint <= last; codePoint += 1) {
    marks.push(String.fromCodePoint(codePoint));
  }
});

describe("marks in canonical order", () => {
  it("are in normalization form D what they were, for runs of any marks", () => {
    const runs = fc.array(fc.constantFrom(...marks), { minLength: 34, maxLength: 120 });
    fc.assert(
      fc.property(runs, (run) => {
        const text = `e${run.join("")}a${run.slice(0, 40).join("")}`;
        expect(orderMarks(text).normalize("NFD")).toBe(text.normalize("NFD"));
        expect(orderMarks(text).normalize("NFC")).toBe(text.normalize("NFC"));
      }),
    );
  });

  it("hold each mark there is", () => {
    const text = marks.toReversed().join("");
    expect(orderMarks(text).normalize("NFC")).toBe(text.normalize("NFC"));
  });

  it("need no sorting any more", () => {
    expect(orderMarks(`e${"\u0301\u0316".repeat(20)}`)).toBe(
      `e${"\u0316".repeat(20)}${"\u0301".repeat(20)}`,
    );
  });

  it("stay as they are in short runs", () => {
    expect(orderMarks("e\u0301\u0316 a")).toBe("e\u0301\u0316 a");
  });
});
