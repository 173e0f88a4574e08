import { TokenizerFormatError } from "../tokenizer-format-error.ts";
import type { CodePointRange } from "../unicode/unicode-ranges.ts";
import { complement, readEscape, type SourceCursor, setSource } from "./pattern-source.ts";

/** Translates the class `[…]` that begins at the cursor, and moves behind it. */
export function translateClass(cursor: SourceCursor): string {
  const start = cursor.at;
  cursor.at += 1;
  const negated = cursor.source[cursor.at] === "^";
  cursor.at += negated ? 1 : 0;
  const ranges: CodePointRange[] = [];
  while (cursor.source[cursor.at] !== "]") {
    if (cursor.at >= cursor.source.length || /^(?:\[|&&)/.test(cursor.source.slice(cursor.at))) {
      throw new TokenizerFormatError(
        "pre_tokenizer.pattern",
        `the class at ${start} of ${JSON.stringify(cursor.source)} is not supported`,
      );
    }
    ranges.push(...readMember(cursor));
  }
  cursor.at += 1;
  return setSource(negated ? complement(ranges) : ranges);
}

function readMember(cursor: SourceCursor): readonly CodePointRange[] {
  const first = readCharacter(cursor);
  if (typeof first !== "number") {
    return first;
  }
  if (cursor.source[cursor.at] !== "-" || cursor.source[cursor.at + 1] === "]") {
    return [{ first, last: first }];
  }
  cursor.at += 1;
  const last = readCharacter(cursor);
  if (typeof last !== "number" || last < first) {
    throw new TokenizerFormatError(
      "pre_tokenizer.pattern",
      `the range before ${cursor.at} of ${JSON.stringify(cursor.source)} is out of order`,
    );
  }
  return [{ first, last }];
}

function readCharacter(cursor: SourceCursor): number | readonly CodePointRange[] {
  if (cursor.source[cursor.at] === "\\") {
    const read = readEscape(cursor);
    return read.kind === "ranges" ? read.ranges : read.codePoint;
  }
  const codePoint = cursor.source.codePointAt(cursor.at) ?? 0;
  cursor.at += codePoint > 0xffff ? 2 : 1;
  return codePoint;
}
