/**
 * Measures what one Frontend spends on text, in a process of its own: loading a tokenizer, the first prompt beside the
 * tenth, preparing chats of 8,192 tokens, and how long the loop stands still meanwhile.
 *
 * Run from the root: `npx tsx --conditions=@baton/source packages/frontend/scripts/measure-prepare.ts [FOLDER]`, where
 * FOLDER holds a `tokenizer.json` and its `tokenizer_config.json`; without one it is SmolLM2's tokenizer.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createBlockHasherFromModule } from "@baton/kv-router";
import { requestId } from "@baton/protocol";
import { RealClock, SeededRandom } from "@baton/runtime";
import { encodeTokenizerArtifact, readTokenizerFolder } from "@baton/text";
import { loadTextModel } from "../src/prepare/load-text-model.ts";
import { createPrepareRequest } from "../src/prepare/prepare-request.ts";
import type { TextModel } from "../src/prepare/text-model.ts";
import { TextModels } from "../src/prepare/text-models.ts";
import type { ServingRequest } from "../src/request/serving-request.ts";
import { registrationOf } from "../test/support/fake-view.ts";

const clock = new RealClock();
const random = new SeededRandom("measure");
const promptTokens = 8192;
const sharedTokens = 8064;
const syllables =
  "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo yu za ent ing ion ous str con".split(
    " ",
  );
const common = "the of and to in is that it for was on are as with his they at be this from".split(
  " ",
);

function pick<T>(list: readonly T[]): T {
  const item = list[Math.floor(random.number() * list.length)];
  if (item === undefined) throw new Error("an empty list");
  return item;
}

/** English of a kind, never the same twice: half frequent words, half rare ones. */
function prose(length: number): string {
  const parts: string[] = [];
  for (let size = 0; size < length; ) {
    const rare = Array.from({ length: 1 + Math.floor(random.number() * 3) }, () => pick(syllables));
    const word = random.number() < 0.5 ? pick(common) : rare.join("");
    const part = word + (random.number() < 0.1 ? ".\n" : random.number() < 0.1 ? ", " : " ");
    parts.push(part);
    size += part.length;
  }
  return parts.join("");
}

function readArtifact(folder: string | undefined): Uint8Array {
  if (folder === undefined) {
    const path = createRequire(import.meta.url).resolve("@baton/text/assets/default-tokenizer.bin");
    return readFileSync(path);
  }
  const read = (file: string) => readFileSync(join(folder, file), "utf8");
  return encodeTokenizerArtifact(
    readTokenizerFolder({
      tokenizerJson: read("tokenizer.json"),
      tokenizerConfig: read("tokenizer_config.json"),
    }),
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0;
}

function print(name: string, ...values: readonly string[]): void {
  process.stdout.write(`${name.padEnd(44)} ${values.join("  ")}\n`);
}

/** Runs work and tells how long the loop was held meanwhile. */
async function held(name: string, work: () => Promise<unknown>): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await clock.sleep(20);
  delay.reset();
  const startMs = clock.nowMs();
  await work();
  const tookMs = clock.nowMs() - startMs;
  await clock.sleep(20);
  delay.disable();
  const ms = (nanos: number) => `${(nanos / 1e6).toFixed(1)}`;
  const p99 = ms(delay.percentile(99));
  print(name, `${tookMs.toFixed(0)} ms`, `loop p99 ${p99} ms`, `worst ${ms(delay.max)} ms`);
}

/** Milliseconds of the clock and of the processor that one call takes. */
async function timed(
  work: () => Promise<unknown>,
): Promise<readonly [wallMs: number, cpuMs: number]> {
  const before = process.cpuUsage();
  const start = performance.now();
  await work();
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  return [wallMs, (user + system) / 1000];
}

async function describe(works: readonly (() => Promise<unknown>)[]): Promise<string> {
  const wall: number[] = [];
  let cpuMs = 0;
  for (const work of works) {
    const [tookMs, usedMs] = await timed(work);
    wall.push(tookMs);
    cpuMs += usedMs;
  }
  const all = `median ${median(wall).toFixed(2)} ms [${Math.min(...wall).toFixed(2)}–${Math.max(...wall).toFixed(2)}]`;
  return `${all}, CPU ${(cpuMs / works.length).toFixed(2)} ms`;
}

/** A text of so many tokens, cut by another model than the one measured. */
async function textOf(cutter: TextModel, tokens: number): Promise<string> {
  const ids = await cutter.encode(prose(tokens * 6), { special: false });
  const decoder = cutter.decoder();
  return Array.from(ids.subarray(0, tokens), (id) => decoder.push(id)).join("");
}

function chat(...contents: readonly string[]): ServingRequest["prompt"] {
  return {
    kind: "chat",
    messages: contents.map((content, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content,
    })),
  };
}

const bytes = readArtifact(process.argv[2]);
await held("nothing, for one second", () => clock.sleep(1000));
const models = new TextModels(1, () => loadTextModel(clock, bytes));
await held(`loading ${bytes.length} bytes`, () => models.get("m", "checksum"));
const text = await models.get("m", "checksum");
const cutter = await loadTextModel(clock, bytes);
const { card } = registrationOf({
  id: "a1",
  type: "aggregated",
  card: { contextLength: 2 ** 21, blockSize: 16 },
});
const prepareRequest = createPrepareRequest({
  textModels: models,
  hasher: createBlockHasherFromModule(),
  random,
  maxPromptLogprobs: 0,
  maxWorkBytes: () => 2 ** 26,
});
const prepare = (prompt: ServingRequest["prompt"]) => () =>
  prepareRequest(
    {
      requestId: requestId("r1"),
      model: "m",
      prompt,
      output: { maxTokens: 8, n: 1 },
      stop: [],
      clientRequestId: null,
      traceparent: null,
    },
    card,
  );

const prompts: string[] = [];
for (let index = 0; index < 40; index += 1) prompts.push(await textOf(cutter, promptTokens));
const firstTen: string[] = [];
for (const prompt of prompts.slice(0, 10)) {
  const [wallMs, cpuMs] = await timed(prepare(chat(prompt)));
  firstTen.push(`${wallMs.toFixed(2)} (${cpuMs.toFixed(2)})`);
}
print("the first ten chats of 8,192 tokens, ms (CPU)", firstTen.join(" "));
print("a chat of 8,192 new tokens", await describe(prompts.slice(10).map((p) => prepare(chat(p)))));
const beginning = await textOf(cutter, sharedTokens);
const tails: string[] = [];
for (let index = 0; index < 40; index += 1)
  tails.push(await textOf(cutter, promptTokens - sharedTokens));
await prepare(chat(beginning))();
print(
  "— 8,064 of them shared",
  await describe(tails.map((tail) => prepare(chat(beginning + tail)))),
);
const turns = Array.from({ length: 40 }, (_, index) =>
  beginning.slice(index * 500, index * 500 + 500),
);
await prepare(chat(...turns))();
print(
  "— in 41 messages, shared",
  await describe(tails.map((tail) => prepare(chat(...turns, tail)))),
);
print(
  "rendering it alone",
  await describe(
    tails.map((tail) => async () => text.renderChat([{ role: "user", content: beginning + tail }])),
  ),
);
print(
  "rendering 41 messages alone",
  await describe(
    tails.map(
      (tail) => async () =>
        text.renderChat(
          [...turns, tail].map((content, index) => ({
            role: index % 2 === 0 ? "user" : "assistant",
            content,
          })),
        ),
    ),
  ),
);

const huge: readonly (readonly [string, string])[] = [
  ["a word of 1 M characters", "abcdefghij".repeat(100_000)],
  [
    "a word of 1 M random letters",
    Array.from({ length: 1_000_000 }, () => pick([..."abcdefghijklmnopqrstuvwxyz"])).join(""),
  ],
  ["a prompt of 4 MB", prose(4 * 2 ** 20)],
  ["the same again", ""],
  ["4 MB of Han", "字符串处理是一件".repeat(174_762)],
  ["4 MB of spaces", " ".repeat(4 * 2 ** 20)],
  ["4 MB of combining marks", "e".concat("\u0301\u0316".repeat(2 ** 20))],
];
let last = "";
for (const [name, content] of huge) {
  last = content === "" ? last : content;
  const prompt = last;
  await held(name, () => text.encode(prompt, { special: false }));
}
const many = Array.from({ length: 20 }, () => prose(300_000));
await held("20 prompts of 64 k tokens at once", () =>
  Promise.all(many.map((prompt) => text.encode(prompt, { special: false }))),
);
