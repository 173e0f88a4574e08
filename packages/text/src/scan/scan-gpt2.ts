// Hot: once per word. Bench: bench/tokenizer.bench.ts.

import { letterFlag, notSymbolFlags, numberFlag, spaceFlag } from "../unicode/character-flags.ts";
import { contractionEnd } from "./contraction-end.ts";
import {
  apostrophe,
  flagsAt,
  nextCodePoint,
  runEnd,
  runEndWithout,
  skipOneSpace,
  whiteSpaceEnd,
} from "./scan-runs.ts";

/** One word of GPT-2: `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`. */
export function scanGpt2(units: Uint16Array, at: number, end: number, flags: Uint8Array): number {
  if (units[at] === apostrophe) {
    const contraction = contractionEnd(units, at, end, "lower");
    if (contraction > at) {
      return contraction;
    }
  }
  const start = skipOneSpace(units, at, end);
  const kind = flagsAt(units, start, flags);
  if ((kind & letterFlag) !== 0) {
    return runEnd(units, start, end, flags, letterFlag);
  }
  if ((kind & numberFlag) !== 0) {
    return runEnd(units, start, end, flags, numberFlag);
  }
  if ((kind & spaceFlag) === 0) {
    return runEndWithout(units, start, end, flags, notSymbolFlags);
  }
  return whiteSpaceEnd(units, at, end, flags);
}

/** One word of SmolLM: every number character alone, then the rule of GPT-2 within what lies between them. */
export function scanSmolLm(units: Uint16Array, at: number, end: number, flags: Uint8Array): number {
  if ((flagsAt(units, at, flags) & numberFlag) !== 0) {
    return nextCodePoint(units, at);
  }
  const start = skipOneSpace(units, at, end);
  if ((flagsAt(units, start, flags) & (numberFlag | spaceFlag)) === 0) {
    return scanGpt2(units, at, end, flags);
  }
  const run = runEnd(units, at, end, flags, spaceFlag);
  const endsPiece = run === end || (flagsAt(units, run, flags) & numberFlag) !== 0;
  return endsPiece || run - at === 1 ? run : run - 1;
}
