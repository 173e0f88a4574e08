import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeUtf8 } from "../../src/stream/decode-utf8.ts";

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 30 }),
  fc
    .array(
      fc.constantFrom(
        0x41,
        0x80,
        0xbf,
        0xc2,
        0xe0,
        0xed,
        0xa0,
        0x9f,
        0xf0,
        0x90,
        0x8f,
        0xf4,
        0xff,
        0xef,
        0xbb,
      ),
      { maxLength: 12 },
    )
    .map((list) => Uint8Array.from(list)),
  fc.string({ unit: "binary" }).map((text) => new Uint8Array(Buffer.from(text))),
);

describe("decodeUtf8", () => {
  it("gives what a streaming TextDecoder gives", () => {
    fc.assert(
      fc.property(bytes, (input) => {
        const reference = new TextDecoder("utf-8", { ignoreBOM: true });
        const text = reference.decode(input, { stream: true });
        const rest = reference.decode();
        const decoded = decodeUtf8(input, input.length);
        expect(decoded.text).toBe(text);
        expect(decoded.openBytes > 0 ? "\ufffd" : "").toBe(rest);
      }),
      { numRuns: 2000 },
    );
  });

  it("says how many bytes begin a character", () => {
    const emoji = Buffer.from("a😀");
    expect([1, 2, 3, 4, 5].map((length) => decodeUtf8(emoji, length).openBytes)).toEqual([
      0, 1, 2, 3, 0,
    ]);
  });
});
