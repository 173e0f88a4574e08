import { describe, expect, it } from "vitest";
import { GgufCursor, NeedMoreBytes } from "../../src/gguf/gguf-cursor.ts";

describe("GgufCursor", () => {
  it("reads where it stands and moves on", () => {
    const cursor = new GgufCursor(Uint8Array.of(1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0));
    expect([cursor.u32(), cursor.at, cursor.size()]).toEqual([1, 4, 2 ** 32 + 2]);
  });

  it("reads views into larger buffers", () => {
    const buffer = Uint8Array.of(9, 9, 7, 0, 0, 0);
    expect(new GgufCursor(buffer.subarray(2)).u32()).toBe(7);
  });

  it("says where bytes would have to reach", () => {
    const cursor = new GgufCursor(new Uint8Array(6));
    cursor.u32();
    expect(() => cursor.u32()).toThrow(new NeedMoreBytes(8));
    expect(() => cursor.scalar(99)).toThrow(/type 99/);
  });
});
