// Hot: a few calls per word, about 10^6 words a second. Bench: bench/tokenizer.bench.ts.

import { lineBreakFlag, numberFlag, spaceFlag } from "../unicode/character-flags.ts";

/**
 * Finds where the word that begins at `at` ends.
 *
 * `units` is well-formed UTF-16 (no lone surrogate), `at < end`, and nothing at or after `end` is looked at.
 * `flags` is the table of `characterFlags()`.
 */
export type WordScanner = (
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
) => number;

export const apostrophe = 0x27;
const space = 0x20;
const slash = 0x2f;

/** Whether a UTF-16 unit is the first half of a surrogate pair. */
export function isLeadSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

/** The code point of a surrogate pair. */
export function joinSurrogates(lead: number, trail: number): number {
  return ((lead & 0x3ff) << 10) + (trail & 0x3ff) + 0x10000;
}

/** Flags of the code point at `at`. */
export function flagsAt(units: Uint16Array, at: number, flags: Uint8Array): number {
  const unit = units[at]!;
  return flags[isLeadSurrogate(unit) ? joinSurrogates(unit, units[at + 1]!) : unit]!;
}

/** Where the next code point after the one at `at` begins. */
export function nextCodePoint(units: Uint16Array, at: number): number {
  return isLeadSurrogate(units[at]!) ? at + 2 : at + 1;
}

/** The end of the run of code points from `at` that have one of the flags in `mask`. */
export function runEnd(
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
  mask: number,
): number {
  let position = at;
  while (position < end) {
    const unit = units[position]!;
    if (!isLeadSurrogate(unit)) {
      if ((flags[unit]! & mask) === 0) {
        return position;
      }
      position += 1;
    } else if ((flags[joinSurrogates(unit, units[position + 1]!)]! & mask) !== 0) {
      position += 2;
    } else {
      return position;
    }
  }
  return position;
}

/** The end of the run of code points from `at` that have none of the flags in `mask`. */
export function runEndWithout(
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
  mask: number,
): number {
  let position = at;
  while (position < end) {
    const unit = units[position]!;
    if (!isLeadSurrogate(unit)) {
      if ((flags[unit]! & mask) !== 0) {
        return position;
      }
      position += 1;
    } else if ((flags[joinSurrogates(unit, units[position + 1]!)]! & mask) === 0) {
      position += 2;
    } else {
      return position;
    }
  }
  return position;
}

/** Where a word that may begin with one space really begins: `[ ]?` before something else. */
export function skipOneSpace(units: Uint16Array, at: number, end: number): number {
  return units[at] === space && at + 1 < end ? at + 1 : at;
}

/** `\s+(?!\S)|\s+`: white space up to, but without, the last one before a word. */
export function whiteSpaceEnd(
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
): number {
  const run = runEnd(units, at, end, flags, spaceFlag);
  return run === end || run - at === 1 ? run : run - 1;
}

/** `\p{N}{1,limit}`, at a number. */
export function numbersEnd(
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
  limit: number,
): number {
  let position = at;
  for (let count = 0; count < limit && position < end; count += 1) {
    if ((flagsAt(units, position, flags) & numberFlag) === 0) {
      break;
    }
    position = nextCodePoint(units, position);
  }
  return position;
}

/**
 * The alternatives that the newer families end with: ` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
 * with slashes among the line breaks after symbols if `slashes`. What has one of the flags in `notSymbol` is no symbol.
 */
export function symbolsOrWhiteSpaceEnd(
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
  notSymbol: number,
  slashes: boolean,
): number {
  const start = skipOneSpace(units, at, end);
  if ((flagsAt(units, start, flags) & notSymbol) === 0) {
    const symbols = runEndWithout(units, start, end, flags, notSymbol);
    return lineBreaksEnd(units, symbols, end, flags, slashes);
  }
  const run = runEnd(units, at, end, flags, spaceFlag);
  for (let last = run - 1; last >= at; last -= 1) {
    if ((flags[units[last]!]! & lineBreakFlag) !== 0) {
      return last + 1;
    }
  }
  return run === end || run - at === 1 ? run : run - 1;
}

function lineBreaksEnd(
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
  slashes: boolean,
): number {
  let position = at;
  while (position < end) {
    const unit = units[position]!;
    if ((flags[unit]! & lineBreakFlag) === 0 && !(slashes && unit === slash)) {
      break;
    }
    position += 1;
  }
  return position;
}
