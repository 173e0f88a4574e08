/**
 * Compares ids over more texts than the tests have time for: with the reference library (`tokenizers` on npm), and of each
 * prompt through tries of known beginnings and in steps with those of the prompt alone and at once.
 *
 * Run from the root: `npx tsx --conditions=@baton/source packages/text/scripts/check-exactness.ts [--count 10000] [FOLDER...]`
 *
 * Each FOLDER holds a `tokenizer.json`; SmolLM2's is always checked. Prints what is unlike; exit code 1 if anything is.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Tokenizer as Reference } from "tokenizers";
import {
  createTokenizer,
  decodeTokenizerArtifact,
  encodeTokenizerArtifact,
  readTokenizerFolder,
  type TokenizerArtifact,
} from "../src/index.ts";
import { fuzzTexts } from "../test/support/fuzz-text.ts";
import { makeProse } from "../test/support/make-prose.ts";
import { chainedPrompts } from "../test/support/prompt-chains.ts";
import { readDefaultArtifact, tokenizerJsonOf } from "../test/support/tokenizer-json.ts";

const { values, positionals: folders } = parseArgs({
  options: { count: { type: "string", default: "10000" } },
  allowPositionals: true,
});
const count = Number(values.count);

/** Runs of one character and long documents. */
const longTexts: readonly string[] = [
  ...["a", " ", "字", "Ω", "\n", "1", "😀", "ab", " a", "e\u0301"].map((unit) =>
    unit.repeat(100_000),
  ),
  ...(["words", "code", "han"] as const).map((kind) => makeProse(kind, 300_000, 5)),
];

function readSubject(folder: string | undefined): readonly [TokenizerArtifact, string] {
  if (folder === undefined) {
    return [readDefaultArtifact(), JSON.stringify(tokenizerJsonOf(readDefaultArtifact()))];
  }
  const tokenizerJson = readFileSync(join(folder, "tokenizer.json"), "utf8");
  const artifact = readTokenizerFolder({ tokenizerJson });
  return [decodeTokenizerArtifact(encodeTokenizerArtifact(artifact)), tokenizerJson];
}

function encodeInSteps(tokenizer: ReturnType<typeof createTokenizer>, text: string): string {
  const job = tokenizer.encodeJob(text);
  while (!job.step(64)) {
    // To its end.
  }
  return job.ids().join();
}

let allUnlike = 0;
for (const folder of [undefined, ...folders]) {
  const [artifact, json] = readSubject(folder);
  const reference = Reference.fromString(json);
  const plain = createTokenizer(artifact);
  const unlike = { reference: 0, steps: 0, tries: 0 };
  for (const text of [...fuzzTexts(count, 1001), ...longTexts]) {
    const ids = plain.encode(text).join();
    const found = await reference.encode(text.toWellFormed(), null, { addSpecialTokens: false });
    unlike.reference += ids === found.getIds().join() ? 0 : 1;
    unlike.steps += ids === encodeInSteps(plain, text) ? 0 : 1;
  }
  const knowing = [16, 64, 1024].flatMap((prefixPieceUnits) =>
    [200_000, 16 * 2 ** 20].map((prefixBytes) =>
      createTokenizer(artifact, { prefixPieceUnits, prefixBytes }),
    ),
  );
  for (const text of chainedPrompts(count, 2001)) {
    const ids = plain.encode(text).join();
    for (const tokenizer of knowing) {
      unlike.tries += ids === encodeInSteps(tokenizer, text) ? 0 : 1;
    }
  }
  const all = count + longTexts.length;
  process.stdout.write(
    `${folder ?? "SmolLM2"}: unlike the reference ${unlike.reference} of ${all}, in steps ${unlike.steps} of ${all}, ` +
      `through tries ${unlike.tries} of ${count * knowing.length}\n`,
  );
  allUnlike += unlike.reference + unlike.steps + unlike.tries;
}
process.exitCode = allUnlike === 0 ? 0 : 1;
