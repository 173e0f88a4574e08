// Hot: once per word. Bench: bench/tokenizer.bench.ts.

import {
  letterFlag,
  lineBreakFlag,
  lowerPartFlag,
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
  const kind = flagsAt(units, at, flags);
  const word = wordEnd(units, at, end, flags, kind);
  if (word > at) {
    return word < end && units[word] === apostrophe ? contractionEnd(units, word, end, true) : word;
  }
  if ((kind & numberFlag) !== 0) {
    return numbersEnd(units, at, end, flags, 3);
  }
  return symbolsOrWhiteSpaceEnd(units, at, end, flags, true);
}

/** The first two alternatives without S, in the order in which a backtracking matcher tries them; `at` if none fits. */
function wordEnd(
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
  kind: number,
): number {
  const mayBePrefix = (kind & (lineBreakFlag | letterFlag | numberFlag)) === 0;
  const start = mayBePrefix ? nextCodePoint(units, at) : at;
  const upperEnd = runEnd(units, start, end, flags, upperPartFlag);
  const lowerEnd = runEnd(units, upperEnd, end, flags, lowerPartFlag);
  if (lowerEnd > upperEnd) {
    return lowerEnd;
  }
  const lastLower = lastLowerPartEnd(units, start, upperEnd, flags);
  if (lastLower > start) {
    return lastLower;
  }
  if (mayBePrefix && (kind & lowerPartFlag) !== 0) {
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
): number {
  let position = end;
  while (position > start) {
    const isTrail = (units[position - 1]! & 0xfc00) === 0xdc00;
    const previous = isTrail ? position - 2 : position - 1;
    if ((flagsAt(units, previous, flags) & lowerPartFlag) !== 0) {
      return position;
    }
    position = previous;
  }
  return start;
}
