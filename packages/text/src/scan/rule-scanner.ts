import { textOfUnits } from "../encode/text-units.ts";
import type { WordScanner } from "./scan-runs.ts";
import type { SplitRule } from "./split-rules.ts";
import { translatePattern } from "./translate-pattern.ts";

/**
 * A scanner for pre-tokenizers that have no scanner of their own, and the oracle of those that have: the rules as
 * regular expressions, each applied to the pieces of the one before. Two to four times slower.
 *
 * Throws `TokenizerFormatError` if a pattern uses what cannot be translated.
 */
export function compileRules(rules: readonly SplitRule[]): readonly RegExp[] {
  return rules.map((rule) => new RegExp(translatePattern(patternOf(rule)), "gu"));
}

function patternOf(rule: SplitRule): string {
  if (rule.kind === "pattern") {
    return rule.source;
  }
  return rule.individual ? "\\p{N}" : "\\p{N}+";
}

/** A scanner for one text at a time: it remembers where it is in the window it was last called for. */
export function makeRuleScanner(rules: readonly RegExp[]): WordScanner {
  // Its own: their `lastIndex` belongs to this text.
  const own = rules.map((rule) => new RegExp(rule));
  let expected = -1;
  let windowStart = 0;
  let ends: Iterator<number> | undefined;
  return (units, at, end) => {
    if (at !== expected || ends === undefined) {
      windowStart = at;
      ends = wordEnds(textOfUnits(units, at, end), own, 0);
    }
    const next = ends.next();
    const wordEnd = next.done === true ? end : windowStart + next.value;
    expected = wordEnd === end ? -1 : wordEnd;
    return wordEnd;
  };
}

/** Where the words of a text end, each rule cutting the pieces of the one before. */
function* wordEnds(text: string, rules: readonly RegExp[], depth: number): Generator<number> {
  const rule = rules[depth];
  if (rule === undefined) {
    yield text.length;
    return;
  }
  let from = 0;
  for (const to of pieceEnds(text, rule)) {
    for (const end of wordEnds(text.slice(from, to), rules, depth + 1)) {
      yield from + end;
    }
    from = to;
  }
}

/** Where matches, and what lies between them, end. While it runs nobody else uses the rule. */
function* pieceEnds(text: string, rule: RegExp): Generator<number> {
  let from = 0;
  for (let at = 0; at <= text.length; ) {
    rule.lastIndex = at;
    const match = rule.exec(text);
    if (match === null) {
      break;
    }
    const { index } = match;
    const end = index + match[0].length;
    at = end;
    if (end === index) {
      at += text.codePointAt(end)! > 0xffff ? 2 : 1;
      continue;
    }
    if (index > from) {
      yield index;
    }
    yield end;
    from = end;
  }
  if (from < text.length) {
    yield text.length;
  }
}
