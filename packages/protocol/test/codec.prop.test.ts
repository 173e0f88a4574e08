import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesToTokens, pack, tokensToBytes, unpack } from "../src/index.ts";

describe("token bytes", () => {
  it("are the tokens again, at whatever place in a buffer they stand", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 })), fc.nat(7), (ids, shift) => {
        const bytes = tokensToBytes(Uint32Array.from(ids));
        const shifted = new Uint8Array(bytes.byteLength + shift);
        shifted.set(bytes, shift);

        expect([...bytesToTokens(shifted.subarray(shift))]).toEqual(ids);
        expect([...bytesToTokens(Buffer.from(shifted.buffer, shift))]).toEqual(ids);
      }),
    );
  });
});

describe("pack", () => {
  it("keeps whole numbers up to 2^53, bytes and text", () => {
    const value = [
      Number.MAX_SAFE_INTEGER,
      -1,
      0.5,
      "字🙂",
      Uint8Array.of(1, 2),
      null,
      true,
      { a: [1] },
    ];

    expect(unpack(pack(value))).toEqual(value);
  });

  it("gives bytes that a later call does not overwrite", () => {
    const first = pack(["first"]);
    pack(["second, and longer"]);

    expect(unpack(first)).toEqual(["first"]);
  });
});
