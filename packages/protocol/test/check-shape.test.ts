import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkShape } from "../src/check-shape.ts";
import { pack, unpack } from "../src/codec.ts";

/** An array that says it has 30 million values, which a decoder makes 240 MB of room for. */
const promise = [0xdd, 0x01, 0xcf, 0xff, 0xff];

describe("checkShape", () => {
  it("takes every value that can be packed, and none that is cut short", () => {
    const anything = fc.anything({ maxDepth: 6, withNullPrototype: false });
    fc.assert(
      fc.property(anything, fc.nat(), (value, at) => {
        const bytes = pack(JSON.parse(JSON.stringify(value) ?? "null"));
        checkShape(bytes);
        expect(() => checkShape(bytes.subarray(0, at % bytes.length))).toThrow(RangeError);
      }),
    );
  });

  it("knows every length and every kind of head", () => {
    for (const length of [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536]) {
      checkShape(pack("x".repeat(length)));
      checkShape(pack(new Uint8Array(length)));
      checkShape(pack(new Array(length).fill(1)));
      checkShape(pack(Object.fromEntries(Array.from({ length }, (_, i) => [`k${i}`, i]))));
    }
    checkShape(pack([1, -1, 128, -129, 65_536, 2 ** 40, -(2 ** 40), 1.5, null, true, new Date(5)]));
    for (const [head, body] of [
      [0xd4, 2],
      [0xd8, 17],
    ] as const) {
      checkShape(Uint8Array.of(head, ...new Array<number>(body).fill(1)));
      expect(() => checkShape(Uint8Array.of(head, ...new Array<number>(body - 1)))).toThrow();
    }
    for (const extension of [
      [0xc7, 2],
      [0xc8, 0, 2],
      [0xc9, 0, 0, 0, 2],
    ]) {
      checkShape(Uint8Array.of(...extension, 7, 1, 1));
      expect(() => checkShape(Uint8Array.of(...extension, 7, 1))).toThrow("cut short");
    }
  });

  it("refuses what promises more than there is, however it is nested", () => {
    for (const bytes of [
      promise,
      Array.from({ length: 20 }, () => promise).flat(),
      [0xdf, 0xff, 0xff, 0xff, 0xff],
      [0xde, 0x00, 0x02, 0xc0, 0xc0, 0xc0],
      [0xc6, 0xff, 0xff, 0xff, 0xff],
    ]) {
      expect(() => checkShape(Uint8Array.from(bytes))).toThrow("cut short");
    }
  });

  it("refuses what is nested without end", () => {
    expect(() => checkShape(new Uint8Array(500_000).fill(0x91))).toThrow("nested too deep");
  });
});

describe("unpack", () => {
  it("makes no room for values that are not there", () => {
    const bytes = Uint8Array.from(Array.from({ length: 200 }, () => promise).flat());

    const before = process.memoryUsage().heapUsed;
    expect(() => unpack(bytes)).toThrow();

    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000);
  });
});
