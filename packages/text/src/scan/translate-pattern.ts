import { TokenizerFormatError } from "../tokenizer-format-error.ts";
import { escapeSource, readEscape, type SourceCursor, setSource } from "./pattern-source.ts";
import { translateClass } from "./translate-class.ts";

/**
 * Translates a pattern of the tokenizers' dialect to JavaScript (flags `u`), with the classes of Unicode 16.
 *
 * `\p{…}`, `\s` and `\d` are written out, because the running engine's are of another Unicode version; groups that ignore
 * case become classes; possessive quantifiers and atomic groups become look-aheads with a back-reference. Throws
 * `TokenizerFormatError` for what is not supported (anchors, scripts, back-references, set operations).
 */
export function translatePattern(source: string): string {
  const cursor: SourceCursor = { source, at: 0, groups: 0 };
  const translated = translateAlternatives(cursor, false);
  if (cursor.at < source.length) {
    throw unsupported(cursor, "an unmatched )");
  }
  return translated;
}

function translateAlternatives(cursor: SourceCursor, caseless: boolean): string {
  let translated = "";
  while (cursor.at < cursor.source.length && cursor.source[cursor.at] !== ")") {
    if (cursor.source[cursor.at] === "|") {
      cursor.at += 1;
      translated += "|";
    } else {
      translated += translateQuantified(cursor, caseless);
    }
  }
  return translated;
}

function translateQuantified(cursor: SourceCursor, caseless: boolean): string {
  const atom = translateAtom(cursor, caseless);
  const quantifier = /^(?:[*+?]|\{\d*,?\d*\})/.exec(cursor.source.slice(cursor.at))?.[0];
  if (quantifier === undefined) {
    return atom;
  }
  cursor.at += quantifier.length;
  const mode = cursor.source[cursor.at];
  if (mode === "?") {
    cursor.at += 1;
    return `${atom}${quantifier}?`;
  }
  if (mode === "+" && !quantifier.startsWith("{")) {
    cursor.at += 1;
    return atomic(cursor, `${atom}${quantifier}`);
  }
  if (mode === "+" || mode === "*") {
    throw unsupported(cursor, "a quantifier of a quantifier");
  }
  return `${atom}${quantifier}`;
}

function translateAtom(cursor: SourceCursor, caseless: boolean): string {
  const character = String.fromCodePoint(cursor.source.codePointAt(cursor.at) ?? 0);
  switch (character) {
    case "(":
      return translateGroup(cursor, caseless);
    case "[":
      if (caseless) {
        throw unsupported(cursor, "a class that ignores case");
      }
      return translateClass(cursor);
    case "\\": {
      const set = readEscape(cursor);
      return set.kind === "ranges" ? setSource(set.ranges) : literal(set.codePoint, caseless);
    }
    case ".":
      cursor.at += 1;
      return "[^\\n]";
    case "^":
    case "$":
    case "*":
    case "+":
    case "?":
      throw unsupported(cursor, character);
    default:
      cursor.at += character.length;
      return literal(character.codePointAt(0) ?? 0, caseless);
  }
}

const groupOpenings = ["(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"] as const;

function translateGroup(cursor: SourceCursor, caseless: boolean): string {
  const opening = groupOpenings.find((text) => cursor.source.startsWith(text, cursor.at));
  if (opening === undefined && cursor.source.startsWith("(?", cursor.at)) {
    throw unsupported(cursor, cursor.source.slice(cursor.at, cursor.at + 4));
  }
  cursor.at += opening?.length ?? 1;
  const inner = translateAlternatives(cursor, caseless || opening === "(?i:");
  if (cursor.source[cursor.at] !== ")") {
    throw unsupported(cursor, "an unmatched (");
  }
  cursor.at += 1;
  if (opening === "(?>") {
    return atomic(cursor, inner);
  }
  return opening === undefined || opening === "(?i:" ? `(?:${inner})` : `${opening}${inner})`;
}

function atomic(cursor: SourceCursor, inner: string): string {
  cursor.groups += 1;
  const name = `atom${cursor.groups}`;
  return `(?:(?=(?<${name}>${inner}))\\k<${name}>)`;
}

/** Letters that Unicode folds to an ASCII letter beside its upper case. */
const foldsToAscii: Readonly<Record<string, string>> = { s: "ſ", k: "\u212a" };

function literal(codePoint: number, caseless: boolean): string {
  const character = String.fromCodePoint(codePoint);
  if (!caseless || !/[A-Za-z]/.test(character)) {
    return escapeSource(codePoint);
  }
  const lower = character.toLowerCase();
  return `[${lower}${lower.toUpperCase()}${foldsToAscii[lower] ?? ""}]`;
}

function unsupported(cursor: SourceCursor, what: string): TokenizerFormatError {
  return new TokenizerFormatError(
    "pre_tokenizer.pattern",
    `${what} at ${cursor.at} of ${JSON.stringify(cursor.source)} is not supported`,
  );
}
