import { describe, expect, it } from "vitest";
import { classCount, classOf, decomposes } from "../../src/encode/combining-classes.ts";

const of = (character: string) => classOf(character.codePointAt(0) ?? 0);

describe("combining classes", () => {
  it("are 0 for starters, and in the order of the classes for marks", () => {
    expect([of("e"), of("字"), of("\u0e31"), of("\u{2ffff}")]).toEqual([0, 0, 0, 0]);
    expect(of("\u0334")).toBe(1);
    expect(of("\u0316")).toBeLessThan(of("\u0301"));
    expect(of("\u0300")).toBe(of("\u0301"));
    expect(of("\u0345")).toBe(classCount - 1);
  });

  it("say what is several in decomposed text", () => {
    expect([of("\u0344"), of("é"), of("가")]).toEqual([decomposes, decomposes, decomposes]);
  });
});
