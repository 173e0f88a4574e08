import { describe, expect, it } from "vitest";
import { readMetadata } from "../../src/gguf/read-metadata.ts";
import { buildGguf } from "../support/gguf-builder.ts";

describe("readMetadata", () => {
  it("reads every type of value", () => {
    const metadata = readMetadata(
      buildGguf({
        u8: { type: "u8", value: 200 },
        i8: { type: "i8", value: -3 },
        u16: { type: "u16", value: 60_000 },
        i16: { type: "i16", value: -300 },
        u32: { type: "u32", value: 4_000_000_000 },
        i32: { type: "i32", value: -7 },
        u64: { type: "u64", value: 2 ** 40 },
        i64: { type: "i64", value: -(2 ** 40) },
        f32: { type: "f32", value: 0.5 },
        f64: { type: "f64", value: 0.1 },
        yes: { type: "bool", value: true },
        text: { type: "string", value: "größe" },
      }),
    );
    expect(Object.fromEntries(metadata.values)).toEqual({
      u8: 200,
      i8: -3,
      u16: 60_000,
      i16: -300,
      u32: 4_000_000_000,
      i32: -7,
      u64: 2 ** 40,
      i64: -(2 ** 40),
      f32: 0.5,
      f64: 0.1,
      yes: true,
      text: "größe",
    });
  });

  it("reads arrays when asked for", () => {
    const metadata = readMetadata(
      buildGguf({
        words: { type: "strings", value: ["a", "", "bc"] },
        numbers: { type: "i32s", value: [1, -2] },
        none: { type: "i32s", value: [] },
        after: { type: "u32", value: 5 },
      }),
    );
    const lengths: number[] = [];
    expect(metadata.visitStrings("words", (_, from, to) => lengths.push(to - from))).toBe(true);
    expect(lengths).toEqual([1, 0, 2]);
    expect(metadata.numbers("numbers")).toEqual([1, -2]);
    expect(metadata.numbers("none")).toEqual([]);
    expect(metadata.number("after")).toBe(5);
    expect(metadata.visitStrings("missing", () => undefined)).toBe(false);
    expect(metadata.numbers("missing")).toBeUndefined();
  });

  it("names a value of the wrong kind", () => {
    const metadata = readMetadata(buildGguf({ key: { type: "u32", value: 5 } }));
    expect(() => metadata.string("key")).toThrow(/^key: /);
    expect(() => metadata.boolean("key")).toThrow(/^key: /);
    expect(() => metadata.numbers("key")).toThrow(/^key: /);
  });

  it("refuses other files and versions", () => {
    expect(() => readMetadata(Buffer.from("GGML and so on"))).toThrow(/^gguf\.magic: /);
    expect(() => readMetadata(buildGguf({}, 1))).toThrow(/^gguf\.version: 1 /);
    expect(readMetadata(buildGguf({}, 2)).values.size).toBe(0);
  });

  it("refuses absurd counts and lengths instead of waiting for them", () => {
    const manyKeys = Buffer.from(buildGguf({}));
    manyKeys.writeBigUInt64LE(10n ** 9n, 16);
    expect(() => readMetadata(manyKeys)).toThrow(/^gguf\.metadata: /);
    const longKey = Buffer.from(buildGguf({ key: { type: "u32", value: 5 } }));
    longKey.writeBigUInt64LE(2n ** 63n, 24);
    expect(() => readMetadata(longKey)).toThrow(/^gguf: /);
  });
});
