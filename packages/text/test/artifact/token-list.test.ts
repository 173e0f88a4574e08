import { describe, expect, it } from "vitest";
import { layOutTokens } from "../../src/artifact/token-list.ts";

describe("layOutTokens", () => {
  it("puts tokens one after the other, missing ones empty", () => {
    const tokens = [Uint8Array.of(1, 2), undefined, Uint8Array.of(3)];
    expect(layOutTokens(tokens, 5)).toEqual({
      tokenBytes: Uint8Array.of(1, 2, 3),
      tokenOffsets: Uint32Array.of(0, 2, 2, 3, 3, 3),
    });
  });
});
