import { describe, expect, it } from "vitest";
import {
  byteOfCharacter,
  bytesOfTokenText,
  characterOfByte,
} from "../../src/artifact/byte-alphabet.ts";

describe("the byte alphabet", () => {
  it("has a character of its own for every byte", () => {
    const characters = Array.from({ length: 256 }, (_, byte) => characterOfByte(byte));
    expect(new Set(characters).size).toBe(256);
    expect(bytesOfTokenText(characters.join(""))).toEqual(
      Uint8Array.from({ length: 256 }, (_, byte) => byte),
    );
  });

  it("writes a space as Ġ, a line feed as Ċ and letters as they are", () => {
    expect(bytesOfTokenText("ĠHiĊ")).toEqual(Uint8Array.of(0x20, 0x48, 0x69, 0x0a));
    expect(characterOfByte(0xad)).toBe("Ń");
    expect(byteOfCharacter(0x20)).toBeUndefined();
  });

  it("does not read other characters", () => {
    expect(bytesOfTokenText("<｜User｜>")).toBeUndefined();
    expect(bytesOfTokenText("a b")).toBeUndefined();
    expect(bytesOfTokenText("")).toEqual(new Uint8Array());
  });
});
