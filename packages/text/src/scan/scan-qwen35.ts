// Hot: once per word. Bench: bench/tokenizer.bench.ts.

import {
  lineBreakFlag,
  lowerPartFlag,
  notSymbolFlags,
  numberFlag,
  upperPartFlag,
} from "../unicode/character-flags.ts";
import { contractionEnd } from "./contraction-end.ts";
import { apostrophe, flagsAt, nextCodePoint, runEnd, symbolsOrWhiteSpaceEnd } from "./scan-runs.ts";

/** A letter or a mark: either part of a word of o200k. */
const letterOrMark = upperPartFlag | lowerPartFlag;

/**
 * One word of Qwen 3.5 as llama.cpp has it: that of Qwen 2 with marks among the letters, and contractions in the cases of
 * ASCII. `'s|'t|'re|'ve|'m|'ll|'d|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|
 * \s*[\r\n]+|\s+(?!\S)|\s+`.
 */
export function scanQwen35(units: Uint16Array, at: number, end: number, flags: Uint8Array): number {
  if (units[at] === apostrophe) {
    const contraction = contractionEnd(units, at, end, "ascii");
    if (contraction > at) {
      return contraction;
    }
  }
  const kind = flagsAt(units, at, flags);
  if ((kind & numberFlag) !== 0) {
    return nextCodePoint(units, at);
  }
  if ((kind & letterOrMark) !== 0) {
    return runEnd(units, at, end, flags, letterOrMark);
  }
  if ((kind & lineBreakFlag) === 0) {
    const next = nextCodePoint(units, at);
    const letters = runEnd(units, next, end, flags, letterOrMark);
    if (letters > next) {
      return letters;
    }
  }
  return symbolsOrWhiteSpaceEnd(units, at, end, flags, notSymbolFlags | letterOrMark, false);
}
