import { readFileSync } from "node:fs";

/** A text and what the reference library makes of it. */
export type ReferenceVector = readonly [text: string, values: readonly number[]];

/** Reads a file of one JSON array `[text, values]` a line, written by scripts/make-reference-vectors.ts. */
export function readReferenceVectors(name: string): readonly ReferenceVector[] {
  return readLines(name) as readonly ReferenceVector[];
}

/** Reads a file of one digest a line, written by the same script. */
export function readReferenceDigests(name: string): readonly string[] {
  return readLines(name) as readonly string[];
}

function readLines(name: string): readonly unknown[] {
  const path = new URL(`../fixtures/${name}.jsonl`, import.meta.url);
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
