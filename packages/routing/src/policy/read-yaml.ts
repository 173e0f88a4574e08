import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { KeyPath } from "./refused-keys.ts";

/** A YAML text with the lines of its keys. */
export interface YamlText {
  /** What it holds as plain values; null for an empty text, and when there are problems. */
  readonly value: unknown;
  /** What keeps it from being YAML, by line. */
  readonly problems: readonly { readonly line: number; readonly text: string }[];
  /** The line of a key, from 1; that of the closest key above it if it is not there. */
  lineOf(path: KeyPath): number;
}

/** Reads a YAML text. Never throws. */
export function readYaml(text: string): YamlText {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
  });
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const problems = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    line: lineAt(pos[0]),
    text: message,
  }));
  const lineOf = (path: KeyPath): number => lineAt(offsetOf(document, path));
  if (problems.length > 0) return { value: null, problems, lineOf };
  try {
    return { value: document.toJS(), problems, lineOf };
  } catch (error) {
    // Aliases that lead nowhere, or to far too much.
    const problem = error instanceof Error ? error.message : String(error);
    return { value: null, problems: [{ line: 1, text: problem }], lineOf };
  }
}

function offsetOf(document: Document.Parsed, path: KeyPath): number {
  let node: unknown = document.contents;
  let offset = 0;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
      if (pair === undefined) return offset;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof step === "number") {
      node = node.items[step];
      offset = startOf(node) ?? offset;
    } else {
      return offset;
    }
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return (node as { readonly range?: readonly number[] | null } | null)?.range?.[0];
}
