import { describe, expect, it } from "vitest";
import { exists, type SourceFile, sourceFiles } from "./source-files.ts";

/** Files whose logic is held by a test at another place, and which one. */
const heldElsewhere: readonly (readonly [file: RegExp, test: string])[] = [
  [/^packages\/protocol\/src\/messages\//, "packages/protocol/test/golden.test.ts"],
];

/** Without logic: process entries, lists of exports, and files that declare types and tables only. */
function hasLogic({ code, path }: SourceFile): boolean {
  if (/\/(index|main)\.ts$/.test(path)) return false;
  const values = code
    .replace(/^(export )?(declare )?interface [\s\S]*?^\}/gm, "")
    .replace(/^(export )?type [\s\S]*?;$/gm, "");
  return /\bfunction\b|\bclass\b|=>/.test(values);
}

function isMirrored(path: string): boolean {
  const test = path.replace("/src/", "/test/").replace(/\.ts$/, "");
  return [".test.ts", ".prop.test.ts", "-contract.ts"].some((suffix) => exists(test + suffix));
}

describe("source files", () => {
  it("have a test at the mirrored path if they have logic", () => {
    const missing = sourceFiles()
      .filter(hasLogic)
      .map(({ path }) => path)
      .filter((path) => !isMirrored(path) && !heldElsewhere.some(([file]) => file.test(path)));

    expect(missing).toEqual([]);
  });

  it("are held elsewhere by tests that exist", () => {
    const absent = heldElsewhere.map(([, test]) => test).filter((test) => !exists(test));

    expect(absent).toEqual([]);
  });
});
