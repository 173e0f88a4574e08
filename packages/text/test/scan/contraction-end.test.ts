import { describe, expect, it } from "vitest";
import { contractionEnd } from "../../src/scan/contraction-end.ts";

function lengthOf(text: string, caseless: boolean): number {
  return contractionEnd(
    Uint16Array.from(text, (c) => c.charCodeAt(0)),
    0,
    text.length,
    caseless,
  );
}

describe("contractionEnd", () => {
  it.each(["'s", "'t", "'m", "'d", "'re", "'ve", "'ll"])(
    "finds %s before other letters",
    (text) => {
      expect(lengthOf(`${text}xyz`, false)).toBe(text.length);
      expect(lengthOf(text, false)).toBe(text.length);
    },
  );

  it.each(["'S", "'LL", "'Re", "'vE", "'ſ"])("finds %s only without case", (text) => {
    expect(lengthOf(text, true)).toBe(text.length);
    expect(lengthOf(text, false)).toBe(0);
  });

  it.each(["'", "'x", "'r", "'l", "'le", "'rl", "'v "])("finds none in %s", (text) => {
    expect(lengthOf(text, true)).toBe(0);
  });
});
