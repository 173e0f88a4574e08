import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { packIds, packLengths, UnpackIds, UnpackLengths } from "../../src/artifact/id-packing.ts";

/** Reads in steps of some items. */
function unpackIds(packed: Uint8Array, size: number, maxItems = 3): Uint32Array {
  const work = new UnpackIds(packed, size);
  while (!work.step(maxItems)) {
    // Some ids a step.
  }
  return work.ids;
}

function unpackLengths(packed: Uint8Array, total: number, maxItems = 3): Uint32Array {
  const work = new UnpackLengths(packed, total);
  while (!work.step(maxItems)) {
    // Some lengths a step.
  }
  return work.offsets;
}

describe("packed ids", () => {
  it("read back, whatever the size of the vocabulary", () => {
    const sized = fc
      .integer({ min: 1, max: 300_000 })
      .chain((size) =>
        fc.tuple(fc.constant(size), fc.array(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)))),
      );
    fc.assert(
      fc.property(sized, ([size, pairs]) => {
        const ids = Uint32Array.from(pairs.flat());
        expect(unpackIds(packIds(ids, size), size)).toEqual(ids);
      }),
    );
  });

  it("take two bytes in a small vocabulary and three in a large one", () => {
    expect(packIds(Uint32Array.of(1, 0xffff), 65_536)).toEqual(Uint8Array.of(1, 0, 0xff, 0xff));
    expect(packIds(Uint32Array.of(1, 0x10000), 65_537)).toEqual(Uint8Array.of(1, 0, 0, 0, 0, 1));
  });

  it("refuse a vocabulary that three bytes cannot number", () => {
    expect(() => packIds(new Uint32Array(), 2 ** 24 + 1)).toThrow(/^tokenBytes: /);
  });
});

describe("packed lengths", () => {
  it("read back", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100_000)), (lengths) => {
        const offsets = new Uint32Array(lengths.length + 1);
        for (const [index, length] of lengths.entries()) {
          offsets[index + 1] = (offsets[index] ?? 0) + length;
        }
        const total = offsets.at(-1) ?? 0;
        expect(unpackLengths(packLengths(offsets), total)).toEqual(offsets);
      }),
    );
  });

  it("must add up", () => {
    expect(() => unpackLengths(Uint8Array.of(3, 4), 8)).toThrow(/^tokenLengths: /);
    expect(() => unpackLengths(Uint8Array.of(3, 4), 6)).toThrow(/^tokenLengths: /);
  });
});
