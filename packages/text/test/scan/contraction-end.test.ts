import { describe, expect, it } from "vitest";
import { type ContractionCase, contractionEnd } from "../../src/scan/contraction-end.ts";

function lengthOf(text: string, letterCase: ContractionCase): number {
  return contractionEnd(
    Uint16Array.from(text, (c) => c.charCodeAt(0)),
    0,
    text.length,
    letterCase,
  );
}

describe("contractionEnd", () => {
  it.each(["'s", "'t", "'m", "'d", "'re", "'ve", "'ll"])(
    "finds %s before other letters",
    (text) => {
      expect(lengthOf(`${text}xyz`, "lower")).toBe(text.length);
      expect(lengthOf(text, "lower")).toBe(text.length);
    },
  );

  it.each(["'S", "'LL", "'Re", "'vE", "'ſ"])("finds %s only without case", (text) => {
    expect(lengthOf(text, "unicode")).toBe(text.length);
    expect(lengthOf(text, "ascii")).toBe(text.includes("ſ") ? 0 : text.length);
    expect(lengthOf(text, "lower")).toBe(0);
  });

  it.each(["'", "'x", "'r", "'l", "'le", "'rl", "'v "])("finds none in %s", (text) => {
    expect(lengthOf(text, "unicode")).toBe(0);
  });
});
