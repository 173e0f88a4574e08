// Hot: once per word. Bench: bench/tokenizer.bench.ts.

import {
  letterFlag,
  lineBreakFlag,
  notSymbolFlags,
  numberFlag,
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
 * One word of Llama 3: `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
 * ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`.
 */
export function scanLlama3(units: Uint16Array, at: number, end: number, flags: Uint8Array): number {
  return scanWord(units, at, end, flags, 3);
}

/** One word of Qwen 2 and 3: the rule of Llama 3 with every number character alone. */
export function scanQwen2(units: Uint16Array, at: number, end: number, flags: Uint8Array): number {
  return scanWord(units, at, end, flags, 1);
}

function scanWord(
  units: Uint16Array,
  at: number,
  end: number,
  flags: Uint8Array,
  numbersTogether: number,
): number {
  if (units[at] === apostrophe) {
    const contraction = contractionEnd(units, at, end, "unicode");
    if (contraction > at) {
      return contraction;
    }
  }
  const kind = flagsAt(units, at, flags);
  if ((kind & letterFlag) !== 0) {
    return runEnd(units, at, end, flags, letterFlag);
  }
  if ((kind & numberFlag) !== 0) {
    return numbersEnd(units, at, end, flags, numbersTogether);
  }
  if ((kind & lineBreakFlag) === 0) {
    const next = nextCodePoint(units, at);
    const letters = runEnd(units, next, end, flags, letterFlag);
    if (letters > next) {
      return letters;
    }
  }
  return symbolsOrWhiteSpaceEnd(units, at, end, flags, notSymbolFlags, false);
}
