import { TokenizerFormatError } from "../tokenizer-format-error.ts";
import {
  type CodePointRange,
  categoryRanges,
  whiteSpaceRanges,
} from "../unicode/unicode-ranges.ts";

/** Where a translation stands in its source. */
export interface SourceCursor {
  readonly source: string;
  at: number;
  /** How many groups the translation has named. */
  groups: number;
}

/** What an escape stands for. */
export type PatternEscape =
  | { readonly kind: "ranges"; readonly ranges: readonly CodePointRange[] }
  | { readonly kind: "character"; readonly codePoint: number };

const lastCodePoint = 0x10ffff;
const controlEscapes: Readonly<Record<string, number>> = {
  n: 0x0a,
  r: 0x0d,
  t: 0x09,
  f: 0x0c,
  v: 0x0b,
};

/** Reads the escape that begins at the cursor, and moves behind it. */
export function readEscape(cursor: SourceCursor): PatternEscape {
  const rest = cursor.source.slice(cursor.at);
  const property = /^\\([pP])\{(\^?)(\w+)\}/.exec(rest);
  if (property !== null) {
    cursor.at += property[0].length;
    const negated = (property[1] === "P") !== (property[2] === "^");
    return rangesOf(categoryRanges(property[3]!), negated, property[0]);
  }
  const codePoint = /^\\(?:x\{([0-9a-fA-F]+)\}|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))/.exec(rest);
  if (codePoint !== null) {
    cursor.at += codePoint[0].length;
    const digits = codePoint[1] ?? codePoint[2] ?? codePoint[3]!;
    return { kind: "character", codePoint: Number.parseInt(digits, 16) };
  }
  const letter = cursor.source[cursor.at + 1] ?? "";
  cursor.at += 2;
  return readSimpleEscape(letter);
}

function readSimpleEscape(letter: string): PatternEscape {
  switch (letter) {
    case "s":
    case "S":
      return rangesOf(whiteSpaceRanges, letter === "S", `\\${letter}`);
    case "d":
    case "D":
      return rangesOf(categoryRanges("Nd"), letter === "D", `\\${letter}`);
    default: {
      const control = controlEscapes[letter];
      if (control === undefined && (letter === "" || /\w/.test(letter))) {
        throw notSupported(`\\${letter}`);
      }
      return { kind: "character", codePoint: control ?? letter.charCodeAt(0) };
    }
  }
}

function rangesOf(
  ranges: readonly CodePointRange[] | undefined,
  negated: boolean,
  text: string,
): PatternEscape {
  if (ranges === undefined) {
    throw notSupported(text);
  }
  return { kind: "ranges", ranges: negated ? complement(ranges) : ranges };
}

function notSupported(text: string): TokenizerFormatError {
  return new TokenizerFormatError("pre_tokenizer.pattern", `${text} is not supported`);
}

/** All code points outside the ranges. */
export function complement(ranges: readonly CodePointRange[]): readonly CodePointRange[] {
  const outside: CodePointRange[] = [];
  let next = 0;
  for (const range of ranges.toSorted((left, right) => left.first - right.first)) {
    if (range.first > next) {
      outside.push({ first: next, last: range.first - 1 });
    }
    next = Math.max(next, range.last + 1);
  }
  if (next <= lastCodePoint) {
    outside.push({ first: next, last: lastCodePoint });
  }
  return outside;
}

/** A JavaScript class of the ranges. */
export function setSource(ranges: readonly CodePointRange[]): string {
  const members = ranges.map(({ first, last }) =>
    first === last ? escapeSource(first) : `${escapeSource(first)}-${escapeSource(last)}`,
  );
  return `[${members.join("")}]`;
}

/** A code point in JavaScript's pattern syntax. */
export function escapeSource(codePoint: number): string {
  return `\\u{${codePoint.toString(16)}}`;
}
