import { visitCategoryRuns, whiteSpaceRanges } from "./unicode-ranges.ts";

/** A letter: general category L. */
export const letterFlag = 1;
/** A number: general category N. */
export const numberFlag = 2;
/** White space: the White_Space property. */
export const spaceFlag = 4;
/** A carriage return or a line feed. */
export const lineBreakFlag = 8;
/** What may stand in the upper-case part of an o200k word: Lu, Lt, Lm, Lo, M. */
export const upperPartFlag = 16;
/** What may stand in the lower-case part of an o200k word: Ll, Lm, Lo, M. */
export const lowerPartFlag = 32;
/** A letter but one of a to z, and a letter but one of A to Z: the two parts of words where only ASCII has case. */
export const notAsciiLowerFlag = 64;
export const notAsciiUpperFlag = 128;

/** Letters, numbers and white space: what is none of them is called a symbol here. */
export const notSymbolFlags: number = letterFlag | numberFlag | spaceFlag;

/** What all letters have; those of ASCII lose one. */
const letterFlags = letterFlag | notAsciiLowerFlag | notAsciiUpperFlag;

let table: Uint8Array | undefined;

/** The flags of every code point, one byte each (1.1 MB). Made at the first call, then shared: do not write to it. */
export function characterFlags(): Uint8Array {
  table ??= makeTable();
  return table;
}

function makeTable(): Uint8Array {
  const flags = new Uint8Array(0x110000);
  visitCategoryRuns((category, range) => {
    flags.fill(flagsOfCategory(category), range.first, range.last + 1);
  });
  for (const range of whiteSpaceRanges) {
    for (let codePoint = range.first; codePoint <= range.last; codePoint += 1) {
      flags[codePoint]! |= spaceFlag;
    }
  }
  for (let codePoint = 0x41; codePoint <= 0x5a; codePoint += 1) {
    flags[codePoint]! &= ~notAsciiUpperFlag;
    flags[codePoint + 0x20]! &= ~notAsciiLowerFlag;
  }
  flags[0x0a]! |= lineBreakFlag;
  flags[0x0d]! |= lineBreakFlag;
  return flags;
}

function flagsOfCategory(category: string): number {
  if (category.startsWith("N")) {
    return numberFlag;
  }
  if (category.startsWith("M")) {
    return upperPartFlag | lowerPartFlag;
  }
  switch (category) {
    case "Lu":
    case "Lt":
      return letterFlags | upperPartFlag;
    case "Ll":
      return letterFlags | lowerPartFlag;
    case "Lm":
    case "Lo":
      return letterFlags | upperPartFlag | lowerPartFlag;
    default:
      return 0;
  }
}
