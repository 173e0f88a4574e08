import { expect, it } from "vitest";
import { bytesFromBase64, instantiateWasm, utf8Bytes } from "../../src/hashing/host-globals.ts";

it("reads base 64 back, bytes above 127 included", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);

  expect(bytesFromBase64(Buffer.from(bytes).toString("base64"))).toEqual(bytes);
});

it("encodes text as UTF-8 and a lone surrogate as U+FFFD", () => {
  expect([...utf8Bytes("aé")]).toEqual([0x61, 0xc3, 0xa9]);
  expect([...utf8Bytes("\ud800")]).toEqual([0xef, 0xbf, 0xbd]);
});

it("instantiates an empty module", () => {
  const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

  expect(Object.keys(instantiateWasm(empty).exports)).toEqual([]);
});
