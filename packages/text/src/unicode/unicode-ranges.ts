import { unicodeCategoryNames, unicodeCategoryRuns } from "./unicode-category-runs.ts";

/** A run of code points, both ends included. */
export interface CodePointRange {
  readonly first: number;
  readonly last: number;
}

/** Code points with the White_Space property: what `\s` means to the tokenizers, unlike to JavaScript. */
export const whiteSpaceRanges: readonly CodePointRange[] = [
  { first: 0x09, last: 0x0d },
  { first: 0x20, last: 0x20 },
  { first: 0x85, last: 0x85 },
  { first: 0xa0, last: 0xa0 },
  { first: 0x1680, last: 0x1680 },
  { first: 0x2000, last: 0x200a },
  { first: 0x2028, last: 0x2029 },
  { first: 0x202f, last: 0x202f },
  { first: 0x205f, last: 0x205f },
  { first: 0x3000, last: 0x3000 },
];

/** Calls `visit` with every run of code points of one general category, in ascending order. */
export function visitCategoryRuns(visit: (category: string, range: CodePointRange) => void): void {
  let next = 0;
  for (const [, letter, length] of unicodeCategoryRuns.matchAll(/([A-Za-z])(\d*)/g)) {
    const index = letter!.charCodeAt(0) - (letter! < "a" ? 65 : 97 - 26);
    const first = next;
    next += length === "" ? 1 : Number(length);
    visit(unicodeCategoryNames[index]!, { first, last: next - 1 });
  }
}

/**
 * The code points of a general category (`Lu`) or of a whole group (`L`), joined to as few ranges as possible.
 * Undefined if Unicode has no such category.
 */
export function categoryRanges(name: string): readonly CodePointRange[] | undefined {
  if (!unicodeCategoryNames.some((category) => category.startsWith(name)) || name === "") {
    return undefined;
  }
  const ranges: CodePointRange[] = [];
  visitCategoryRuns((category, range) => {
    const previous = ranges.at(-1);
    if (!category.startsWith(name)) {
      return;
    }
    if (previous !== undefined && previous.last + 1 === range.first) {
      ranges[ranges.length - 1] = { first: previous.first, last: range.last };
    } else {
      ranges.push(range);
    }
  });
  return ranges;
}
