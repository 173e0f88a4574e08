/**
 * Measures what whole requests cost the Frontend's process, in a cluster of mock engines that take no time, every actor a
 * process. CPU is user and system time of the Frontend's process, and of nothing else.
 *
 * Run from the root, after a build:
 * `npx tsx --conditions=@baton/source scripts/measure-requests.ts first|cpu|rate|delay [--model FOLDER] [--seconds 15] [--rounds 5]`
 *
 * first: the first ten chats of 8,192 tokens after `ready`. cpu: such chats, new, and with 8,064 tokens shared, in one message and in 41.
 * rate: 64 short chats in flight beside the same as token ids, in turn. delay: how long the loop is held under 20 chats of
 * 8,192 tokens and 200 short ones a second.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { BatonProcess, descendantsOf, waitUntil } from "../test/support/processes/index.ts";
import { RawClient, requestOf } from "./measure/raw-client.ts";
import { scriptOptions, wholeNumber } from "./options.ts";

const { values, positionals } = scriptOptions(
  "npx tsx --conditions=@baton/source scripts/measure-requests.ts [OPTIONS] [PART…]",
  {
    options: {
      model: { type: "string" },
      seconds: { type: "string", default: "15" },
      rounds: { type: "string", default: "5" },
    },
    allowPositionals: true,
  },
);
const seconds = wholeNumber("--seconds", values.seconds);
const rounds = wholeNumber("--rounds", values.rounds);
const modelName = "measured";
const longTokens = 8192;
const sharedTokens = 8064;
const inFlight = 64;

/** What the Frontend's process has used, and how long its loop was held since it was asked before. */
interface Usage {
  readonly asked: number;
  readonly cpuMs: number;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

const directory = mkdtempSync(join(tmpdir(), "measure-"));
const usageFile = join(directory, "usage.json");
const probe = pathToFileURL(join(import.meta.dirname, "measure/frontend-probe.mjs"));
probe.searchParams.set("file", usageFile);
const up = new BatonProcess(
  [
    ...["up", "--engine", "mock", "--model-name", modelName, "--processes", "--port", "0"],
    ...(values.model === undefined ? [] : ["--model", values.model]),
    ...["--admin-port", "0", "--mock-prefill-ms", "0", "--mock-decode-ms", "0"],
    ...["--blocks", "60000", "--context-length", "65536", "--log-level", "warn"],
  ],
  { NODE_OPTIONS: `--import ${probe.href}` },
);
// Its actors end with it.
process.on("exit", () => up.kill("SIGKILL"));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
let asked = 0;
let pid = 0;

async function usage(): Promise<Usage> {
  process.kill(pid, "SIGUSR2");
  asked += 1;
  return await waitUntil("the Frontend's usage", () => {
    try {
      const read = JSON.parse(readFileSync(usageFile, "utf8")) as Usage;
      return read.asked === asked && read;
    } catch {
      return false; // Not written yet, or being written.
    }
  });
}

const words = "the of and to in is that it for was on are as with his they at be this from".split(
  " ",
);
let seed = 1;

function random(below: number): number {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return seed % below;
}

/** English of a kind, never the same twice. */
function prose(length: number): string {
  const letter = () => "etaoinshrdlu"[random(12)] ?? "e";
  let text = "";
  while (text.length < length) {
    text +=
      random(2) === 0 ? words[random(words.length)] : letter() + letter() + letter() + letter();
    text += random(12) === 0 ? ".\n" : " ";
  }
  return text.slice(0, length);
}

const api = (await up.line(/^ready /, 60_000)).split(" ")[1] ?? "";
pid = descendantsOf(up.pid).find(({ command }) => / frontend /.test(command))?.pid ?? 0;
const clients = await Promise.all(Array.from({ length: inFlight }, () => RawClient.open(api)));
const [client] = clients as [RawClient];

/** Characters of text that make one token. */
const sample = prose(100_000);
const counted = JSON.parse(
  await client.ask(requestOf("/tokenize", { model: modelName, prompt: sample })),
) as { readonly count: number };
const charactersPerToken = sample.length / counted.count;
const textOf = (tokens: number) => prose(Math.round(tokens * charactersPerToken));

function chat(contents: readonly string[], maxTokens = 8): Buffer {
  const messages = contents.map((content, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content,
  }));
  return requestOf("/v1/chat/completions", { model: modelName, messages, max_tokens: maxTokens });
}

function median(list: readonly number[]): number {
  return list.toSorted((left, right) => left - right)[list.length >> 1] ?? 0;
}

function spread(list: readonly number[], digits = 2): string {
  const at = (value: number) => value.toFixed(digits);
  return `${at(median(list))} [${at(Math.min(...list))}–${at(Math.max(...list))}]`;
}

function print(name: string, ...facts: readonly string[]): void {
  process.stdout.write(`${name.padEnd(48)} ${facts.join("; ")}\n`);
}

/** Asks all of it, eight at a time. */
async function askAll(requests: readonly Buffer[]): Promise<void> {
  const left = [...requests];
  const work = async (own: RawClient) => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) await own.ask(next);
  };
  await Promise.all(clients.slice(0, 8).map(work));
}

/** The Frontend's CPU a request, eight in flight, in rounds of forty. */
async function cpuOf(name: string, make: () => Buffer): Promise<void> {
  const perRequest: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const requests = Array.from({ length: 40 }, make);
    const before = await usage();
    await askAll(requests);
    perRequest.push(((await usage()).cpuMs - before.cpuMs) / requests.length);
  }
  print(name, `CPU ms a request ${spread(perRequest.slice(1))}`);
}

async function first(): Promise<void> {
  const requests = Array.from({ length: 10 }, () => chat([textOf(longTokens)]));
  const facts: string[] = [];
  for (const request of requests) {
    const before = await usage();
    const startMs = performance.now();
    await client.ask(request);
    const tookMs = performance.now() - startMs;
    facts.push(`${((await usage()).cpuMs - before.cpuMs).toFixed(1)} (${tookMs.toFixed(1)})`);
  }
  print("the first ten chats, CPU ms (ms until the answer)", facts.join(" "));
}

async function cpu(): Promise<void> {
  // A Frontend that has been in use for a while: its code is compiled.
  await askAll(Array.from({ length: 2_000 }, () => chat([prose(100)])));
  await cpuOf("a chat of 8,192 tokens, new", () => chat([textOf(longTokens)]));
  const beginning = textOf(sharedTokens);
  const tail = () => textOf(longTokens - sharedTokens);
  await cpuOf("— 8,064 of them shared", () => chat([beginning + tail()]));
  const size = Math.ceil(beginning.length / 40);
  const turns = Array.from({ length: 40 }, (_, at) => beginning.slice(at * size, (at + 1) * size));
  await cpuOf("— the same in 41 messages", () => chat([...turns, tail()]));
  await cpuOf("a short chat", () => chat([prose(100)]));
}

/** Requests a second over all connections, and the Frontend's CPU µs a request. */
async function rateOf(request: Buffer, times: number): Promise<readonly [number, number]> {
  const before = await usage();
  const startMs = performance.now();
  let left = times;
  const work = async (own: RawClient) => {
    while (left > 0) {
      left -= 1;
      await own.ask(request);
    }
  };
  await Promise.all(clients.map(work));
  const tookMs = performance.now() - startMs;
  return [(1000 * times) / tookMs, (1000 * ((await usage()).cpuMs - before.cpuMs)) / times];
}

async function rate(): Promise<void> {
  const content = textOf(130);
  const tokenized = await client.ask(
    requestOf("/tokenize", { model: modelName, messages: [{ role: "user", content }] }),
  );
  const { tokens } = JSON.parse(tokenized) as { readonly tokens: readonly number[] };
  const asIds = { model: modelName, token_ids: tokens, sampling_params: { max_tokens: 8 } };
  const kinds = [
    ["chat", chat([content]), [] as number[], [] as number[]],
    ["token ids", requestOf("/inference/v1/generate", asIds), [] as number[], [] as number[]],
  ] as const;
  for (let round = 0; round <= rounds; round += 1) {
    for (const [, request, rates, micros] of kinds) {
      const [perSecond, cpuMicros] = await rateOf(request, 2000);
      if (round === 0) continue;
      rates.push(perSecond);
      micros.push(cpuMicros);
    }
  }
  for (const [name, , rates, micros] of kinds) {
    print(
      `${name} of ${tokens.length} tokens, 64 in flight`,
      `requests/s ${spread(rates, 0)}`,
      `CPU µs a request ${spread(micros, 0)}`,
    );
  }
  print("chat ÷ token ids", (median(kinds[0][2]) / median(kinds[1][2])).toFixed(2));
}

/** Asks so often a second, whatever comes back, on connections of its own. Returns how long answers took. */
async function openLoop(perSecond: number, make: () => Buffer): Promise<readonly number[]> {
  const idle: RawClient[] = [];
  const tookMs: number[] = [];
  const running: Promise<void>[] = [];
  const total = perSecond * seconds;
  const startMs = performance.now();
  for (let count = 0; count < total; count += 1) {
    const waitMs = startMs + (1000 * count) / perSecond - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const free = idle.pop() ?? (await RawClient.open(api));
    const sentMs = performance.now();
    running.push(
      free.ask(make()).then(
        () => {
          tookMs.push(performance.now() - sentMs);
          idle.push(free);
        },
        () => free.close(),
      ),
    );
  }
  await Promise.all(running);
  for (const one of idle) one.close();
  return tookMs.toSorted((left, right) => left - right);
}

async function delay(): Promise<void> {
  const long = Array.from({ length: 20 * seconds }, () => chat([textOf(longTokens)]));
  const short = chat([prose(100)]);
  await usage();
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const idle = await usage();
  print(
    "nothing, 3 s",
    `loop p99 ${idle.delayP99Ms.toFixed(1)} ms, worst ${idle.delayMaxMs.toFixed(1)}`,
  );
  await Promise.all([openLoop(20, () => long.pop() ?? short), openLoop(200, () => short)]).then(
    async ([longMs, shortMs]) => {
      const after = await usage();
      print(
        "20 chats of 8,192 tokens and 200 short ones a second",
        `loop p99 ${after.delayP99Ms.toFixed(1)} ms, worst ${after.delayMaxMs.toFixed(1)}`,
        `CPU ${((after.cpuMs - idle.cpuMs) / seconds / 10).toFixed(0)} %`,
        `answered ${longMs.length + shortMs.length} of ${220 * seconds}`,
        `short answers p50 ${(shortMs[shortMs.length >> 1] ?? 0).toFixed(1)} ms, p99 ${(shortMs[Math.floor(shortMs.length * 0.99)] ?? 0).toFixed(1)}`,
      );
    },
  );
}

try {
  const modes: Readonly<Record<string, () => Promise<void>>> = { first, cpu, rate, delay };
  for (const mode of positionals.length === 0 ? ["first"] : positionals) await modes[mode]?.();
} finally {
  for (const one of clients) one.close();
  up.kill("SIGTERM");
  await up.ended;
  rmSync(directory, { recursive: true });
}
