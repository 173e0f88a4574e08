import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../src/artifact/utf8.ts";

describe("encodeUtf8", () => {
  it("writes what Node writes, lone surrogates included", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff), { maxLength: 40 }), (units) => {
        const text = String.fromCharCode(...units);
        expect(encodeUtf8(text)).toEqual(new Uint8Array(Buffer.from(text)));
      }),
    );
  });

  it("writes every length of character", () => {
    expect(encodeUtf8("aß字😀")).toEqual(new Uint8Array(Buffer.from("aß字😀")));
  });
});
