import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { subjectTable } from "../src/index.ts";
import { samples } from "./samples.ts";

/** Bytes of a released version never change. A new message writes its file on the first run: commit it. */
function goldenBytes(name: string, version: number, bytes: Uint8Array): string {
  const file = fileURLToPath(new URL(`golden/${name}-v${version}.hex`, import.meta.url));
  if (!existsSync(file) && process.env.CI === undefined) {
    writeFileSync(
      file,
      `${Buffer.from(bytes)
        .toString("hex")
        .replace(/(.{100})/g, "$1\n")
        .trim()}\n`,
    );
  }
  return readFileSync(file, "utf8").replaceAll("\n", "");
}

describe("every message", () => {
  for (const { type, value } of samples) {
    it(`keeps the bytes of ${type.name} v${type.version}`, () => {
      const bytes = type.encode(value);

      expect(Buffer.from(bytes).toString("hex")).toBe(goldenBytes(type.name, type.version, bytes));
    });

    it(`reads ${type.name} v${type.version} as it was written`, () => {
      expect(type.decode(type.encode(value))).toEqual(value);
    });

    it(`refuses bytes that are not ${type.name} v${type.version}`, () => {
      const wrong = type.layout === null ? Uint8Array.of(0x90) : Uint8Array.of(0x80);

      expect(() => type.decode(wrong)).toThrow(
        expect.objectContaining({ code: "malformed_message" }),
      );
      expect(() => type.decode(Uint8Array.of(0xc1))).toThrow(
        expect.objectContaining({ code: "malformed_message" }),
      );
    });
  }

  it("is in the samples if a subject carries it", () => {
    const sampled = new Set(samples.map(({ type }) => type.name));
    const carried = subjectTable
      .flatMap((row) => [row.message, row.reply])
      .flatMap((type) => type?.name ?? []);

    expect(carried.filter((name) => !sampled.has(name))).toEqual([]);
  });
});
