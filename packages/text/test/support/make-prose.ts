import { seededNumbers } from "./fuzz-text.ts";

const syllables =
  "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu za ent ing ion ary ous str pre con".split(
    " ",
  );
const common =
  "the of and to in is that it for was on are as with his they at be this from have or by one had not but what all were".split(
    " ",
  );
const keywords =
  "function return const if else for while import export class this new await async true false null".split(
    " ",
  );
const operators = [
  " = ",
  "(",
  ")",
  ";\n",
  " => ",
  ", ",
  ".",
  " {\n    ",
  "\n}\n",
  "[",
  "]",
  " + ",
  "'",
  '"',
];

/** Text of about `length` UTF-16 units, the same for the same seed: half frequent words and half rare ones, code, or Han. */
export function makeProse(kind: "words" | "code" | "han", length: number, seed: number): string {
  const next = seededNumbers(seed);
  const parts: string[] = [];
  for (let size = 0; size < length; ) {
    const part = kind === "han" ? hanPart(next) : kind === "code" ? codePart(next) : wordPart(next);
    parts.push(part);
    size += part.length;
  }
  return parts.join("");
}

function pick(list: readonly string[], next: () => number): string {
  return list[next() % list.length] ?? "";
}

function wordPart(next: () => number): string {
  const word = next() % 2 === 0 ? pick(common, next) : rareWord(next);
  return word + (next() % 9 === 0 ? ", " : next() % 14 === 0 ? ".\n" : " ");
}

function rareWord(next: () => number): string {
  const count = 1 + (next() % 3);
  return Array.from({ length: count }, () => pick(syllables, next)).join("");
}

function codePart(next: () => number): string {
  return (next() % 3 === 0 ? pick(keywords, next) : rareWord(next)) + pick(operators, next);
}

function hanPart(next: () => number): string {
  const count = 2 + (next() % 12);
  const run = Array.from({ length: count }, () => String.fromCharCode(0x4e00 + (next() % 2000)));
  return run.join("") + (next() % 3 === 0 ? "😀" : "，");
}
