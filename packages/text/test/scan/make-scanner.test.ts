import { describe, expect, it } from "vitest";
import { scannerMaker } from "../../src/scan/make-scanner.ts";
import { scanO200k } from "../../src/scan/scan-o200k.ts";
import { cutWords } from "../support/cut-words.ts";

describe("scannerMaker", () => {
  it("gives a family its own scanner", () => {
    expect(scannerMaker({ kind: "family", family: "o200k" })()).toBe(scanO200k);
  });

  it("makes a scanner for each text where there are only rules, so that texts may interleave", () => {
    const make = scannerMaker({ kind: "rules", rules: [{ kind: "pattern", source: "a" }] });
    const first = make();
    expect(make()).not.toBe(first);
    expect(cutWords(first, "bab")).toEqual(["b", "a", "b"]);
  });

  it("refuses rules that cannot be translated", () => {
    const rules = [{ kind: "pattern", source: "\\p{Han}" }] as const;
    expect(() => scannerMaker({ kind: "rules", rules })).toThrow(/\\p\{Han\} is not supported/);
  });
});
