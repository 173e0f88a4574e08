import { describe, expect, it } from "vitest";
import { exists, readText } from "./source-files.ts";

const actors = [
  "prefill worker",
  "decode worker",
  "PrefillRouter",
  "DecodeRouter",
  "Discovery",
  "KvEventAggregator",
  "Frontend",
];
const faults = ["killed", "frozen", "cut off"];

describe("docs/faults.md", () => {
  const rows = readText("docs/faults.md")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| who |"))
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
  const testsIn = (row: readonly string[]) =>
    [...(row.at(-1) ?? "").matchAll(/`([^`]+\.test\.ts)`: “([^”]+)”/g)].map(
      ([, file = "", title = ""]) => ({ file, title }),
    );

  it("has a row for each actor that is killed, frozen and cut off", () => {
    const missing = actors.flatMap((actor) =>
      faults
        .filter((fault) => !rows.some(([who, what]) => who === actor && what?.startsWith(fault)))
        .map((fault) => `${actor} ${fault}`),
    );

    expect(missing).toEqual([]);
  });

  it("names a test in every row", () => {
    expect(rows.length).toBeGreaterThan(30);
    expect(rows.filter((row) => testsIn(row).length === 0)).toEqual([]);
  });

  it("names tests that there are", () => {
    const named = rows.flatMap(testsIn);

    const wrong = named.filter(
      ({ file, title }) => !exists(file) || !hasTitle(readText(file), title),
    );

    expect(wrong).toEqual([]);
  });
});

function hasTitle(text: string, title: string): boolean {
  return [`"`, "`"].some((quote) => text.includes(`${quote}${title}${quote}`));
}
