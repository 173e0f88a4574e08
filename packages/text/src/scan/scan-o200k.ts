// Hot: once per word. Bench: bench/tokenizer.bench.ts.

import {
  letterFlag,
  lineBreakFlag,
  lowerPartFlag,
  notAsciiLowerFlag,
  notAsciiUpperFlag,
  notSymbolFlags,
  numberFlag,
  upperPartFlag,
} from "../unicode/character-flags.ts";
import { contractionEnd } from "./contraction-end.ts";
import {
  apostrophe,
  flagsAt,
  nextCodePoint,
  numbersEnd,
  runEnd,
  symbolsOrWhiteSpaceEnd,
} from "./scan-runs.ts";

/**
 * One word of o200k (GPT-4o, gpt-oss): letters are cut where an upper-case part follows a lower-case one.
 *
 * `P?U*L+S?|P?U+L*S?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+` where P is `[^\r\n\p{L}\p{N}]`,
 * U is `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, L is `[\p{Ll}\p{Lm}\p{Lo}\p{M}]` and S a contraction in any case.
 */
export function scanO200k(units: Uint16Array, at: number, end: number, flags: Uint8Array): number {
  const word = wordEnd(units, at, end, flags, upperPartFlag, lowerPartFlag);
  if (word === at) {
    return otherEnd(units, at, end, flags, 3);
  }
  return isApostrophe(units, word, end) ? contractionEnd(units, word, end, "unicode") : word;
}

/** The same as llama.cpp has it: U is a letter but a to z, L a letter but A to Z, and S in the cases of ASCII. */
export function scanGpt4o(units: Uint16Array, at: number, end: number, flags: Uint8Array): number {
  const word = wordEnd(units, at, end, flags, notAsciiLowerFlag, notAsciiUpperFlag);
  if (word === at) {
    return otherEnd(units, at, end, flags, 3);
  }
  return isApostrophe(units, word, end) ? contractionEnd(units, word, end, "ascii") : word;
}

/** One word of Tekken (Mistral) as llama.cpp has it: that of GPT-4o without contractions, and every number alone. */
export function scanTekken(units: Uint16Array, at: number, end: number, flags: Uint8Array): number {
  const word = wordEnd(units, at, end, flags, notAsciiLowerFlag, notAsciiUpperFlag);
  return word === at ? otherEnd(units, at, end, flags, 1) : word;
}

function isApostrophe(units: Uint16Array, at: number, end: number): boolean {
  return at < end && units[at] === apostrophe;
}

function otherEnd(
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
  numbersTogether: number,
): number {
  return (flagsAt(units, at, flags) & numberFlag) === 0
    ? symbolsOrWhiteSpaceEnd(units, at, end, flags, notSymbolFlags, true)
    : numbersEnd(units, at, end, flags, numbersTogether);
}

/** The first two alternatives without S, in the order in which a backtracking matcher tries them; `at` if none fits. */
function wordEnd(
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
  upper: number,
  lower: number,
): number {
  const kind = flagsAt(units, at, flags);
  const mayBePrefix = (kind & (lineBreakFlag | letterFlag | numberFlag)) === 0;
  const start = mayBePrefix ? nextCodePoint(units, at) : at;
  const upperEnd = runEnd(units, start, end, flags, upper);
  const lowerEnd = runEnd(units, upperEnd, end, flags, lower);
  if (lowerEnd > upperEnd) {
    return lowerEnd;
  }
  const lastLower = lastLowerPartEnd(units, start, upperEnd, flags, lower);
  if (lastLower > start) {
    return lastLower;
  }
  if (mayBePrefix && (kind & lower) !== 0) {
    return start;
  }
  return upperEnd > start ? upperEnd : at;
}

/** The end of the last code point in `[start, end)` that may stand in the lower-case part; `start` if there is none. */
function lastLowerPartEnd(
  units: Uint16Array,
  start: number,
  end: number,
  flags: Uint8Array,
  lower: number,
): number {
  let position = end;
  while (position > start) {
    const isTrail = (units[position - 1]! & 0xfc00) === 0xdc00;
    const previous = isTrail ? position - 2 : position - 1;
    if ((flagsAt(units, previous, flags) & lower) !== 0) {
      return position;
    }
    position = previous;
  }
  return start;
}
