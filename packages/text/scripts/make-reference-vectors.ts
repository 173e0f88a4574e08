/**
 * Writes test/fixtures/*.jsonl: what the reference library (`tokenizers` on npm) makes of fuzz strings and documents; of
 * ten thousand more only digests.
 *
 * Run from the root: `npx tsx --conditions=@baton/source packages/text/scripts/make-reference-vectors.ts`
 */
import { writeFileSync } from "node:fs";
import { Tokenizer } from "tokenizers";
import { preTokenizerFamilies } from "../src/scan/split-rules.ts";
import { fuzzTexts } from "../test/support/fuzz-text.ts";
import { digestsOf } from "../test/support/ids-digest.ts";
import { makeProse } from "../test/support/make-prose.ts";
import {
  preTokenizerJson,
  readDefaultArtifact,
  readMakeModelJson,
  tokenizerJsonOf,
  variants,
} from "../test/support/tokenizer-json.ts";

const documents = [
  makeProse("words", 3000, 1),
  makeProse("code", 3000, 2),
  makeProse("han", 600, 3),
  "a".repeat(700),
  " ".repeat(300),
  "字".repeat(200),
  "ab".repeat(400),
  "\n".repeat(100),
  "😀".repeat(60),
  "0123456789".repeat(30),
  "",
];

async function writeIds(name: string, json: unknown, texts: readonly string[]): Promise<void> {
  const reference = Tokenizer.fromString(JSON.stringify(json));
  const lines: string[] = [];
  for (const text of texts) {
    const encoding = await reference.encode(text.toWellFormed(), null, { addSpecialTokens: true });
    lines.push(JSON.stringify([text, encoding.getIds()]));
  }
  write(name, lines);
}

/** Digests of the ids of more texts than there is room for. */
async function writeDigests(name: string, json: unknown, texts: readonly string[]): Promise<void> {
  const reference = Tokenizer.fromString(JSON.stringify(json));
  const digests = await digestsOf(texts, async (text) => {
    const found = await reference.encode(text.toWellFormed(), null, { addSpecialTokens: false });
    return found.getIds();
  });
  write(
    name,
    digests.map((digest) => JSON.stringify(digest)),
  );
}

/** The lengths of the words that a pre-tokenizer cuts, in bytes: its words are in the byte alphabet. */
function writeSplits(
  family: (typeof preTokenizerFamilies)[number],
  texts: readonly string[],
): void {
  const json = { ...readMakeModelJson(), pre_tokenizer: preTokenizerJson(family) };
  const preTokenizer = Tokenizer.fromString(JSON.stringify(json)).getPreTokenizer();
  const lines = texts.map((text) => {
    const words = preTokenizer?.preTokenizeString(text.toWellFormed()) ?? [];
    return JSON.stringify([text, words.map(([word]) => word.length)]);
  });
  write(`splits-${family}`, lines);
}

function write(name: string, lines: readonly string[]): void {
  writeFileSync(
    new URL(`../test/fixtures/${name}.jsonl`, import.meta.url),
    `${lines.join("\n")}\n`,
  );
}

await writeIds("reference-smollm2", tokenizerJsonOf(readDefaultArtifact()), [
  ...documents,
  ...fuzzTexts(300, 2),
]);
await writeIds("reference-make-model", readMakeModelJson(), [...documents, ...fuzzTexts(250, 3)]);
await writeDigests(
  "digests-smollm2",
  tokenizerJsonOf(readDefaultArtifact()),
  fuzzTexts(10_000, 1001),
);
await writeDigests("digests-make-model", readMakeModelJson(), fuzzTexts(10_000, 1002));
for (const [index, change] of Object.values(variants).entries()) {
  await writeIds(
    `reference-variant-${index}`,
    change(readMakeModelJson()),
    fuzzTexts(200, 4 + index),
  );
}
for (const [index, family] of preTokenizerFamilies.entries()) {
  writeSplits(family, fuzzTexts(250, 20 + index));
}
