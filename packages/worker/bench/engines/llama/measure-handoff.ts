/**
 * Measures the real handoff of the llama engine: what it takes to hand a prompt's KV over, beside computing
 * the prompt again on the decode side, and how long others wait while one is imported. One thread an engine.
 *
 *   npx tsx --conditions=@baton/source packages/worker/bench/engines/llama/measure-handoff.ts MODEL [TOKENS…]
 */

import { argv, env, hrtime, stdout } from "node:process";
import { createBlockHasherFromModule } from "@baton/kv-router";
import { requestId } from "@baton/protocol";
import { RealClock, SystemRandom, silentLogger } from "@baton/runtime";
import type { EngineJob, KvPart, PrefillResult } from "../../../src/engine.ts";
import { findLlamaEngine, LlamaEngine } from "../../../src/engines/llama/index.ts";

const clock = new RealClock();
const hasher = createBlockHasherFromModule();
let lastJob = 0;

function nowMs(): number {
  return Number(hrtime.bigint()) / 1e6;
}

/** A prompt that no other job shares a block with. */
function makeJob(length: number, maxTokens: number): EngineJob {
  lastJob += 1;
  const tokens = Uint32Array.from(
    { length },
    (_, index) => 100 + ((index * 7919 + lastJob * 104_729) % 40_000),
  );
  const blockHashes = hasher.blockHashes(tokens, 16);
  const params = { maxTokens, temperature: 0, ignoreEos: true };
  const sequenceHashes = hasher.sequenceHashes(blockHashes);
  const id = requestId(`r-${lastJob}`);
  return {
    requestId: id,
    dpRank: 0,
    tokens,
    blockHashes,
    sequenceHashes,
    params,
    lora: null,
    salt: null,
  };
}

/** An engine, and when it said what. */
class Probe {
  readonly engine: LlamaEngine;
  /** When steps ended in which a watched request took part. */
  readonly stepTimes: number[] = [];
  readonly watched = new Set<string>();
  lastKvEventMs = 0;
  #onPrefilled: (result: PrefillResult) => void = () => {};
  readonly #onOutput = new Map<string, (isLast: boolean) => void>();

  constructor(engine: LlamaEngine) {
    this.engine = engine;
  }

  async start(): Promise<void> {
    await this.engine.start({
      onStep: (outputs) => {
        if (outputs.some(({ requestId: id }) => this.watched.has(id))) {
          this.stepTimes.push(nowMs());
        }
        for (const output of outputs) {
          this.#onOutput.get(output.requestId)?.(output.finish !== null);
        }
      },
      onPrefilled: (result) => this.#onPrefilled(result),
      onFailed: (id, error) => {
        throw new Error(`${id} failed`, { cause: error });
      },
      onKvEvents: () => {
        this.lastKvEventMs = nowMs();
      },
      onLost: (error) => {
        throw error;
      },
      onRestored: () => {},
    });
  }

  prefill(job: EngineJob): Promise<PrefillResult> {
    return new Promise((resolve) => {
      this.#onPrefilled = resolve;
      this.engine.prefill(job);
    });
  }

  /** Resolves at the first output, or at the last. */
  output(job: EngineJob, which: "first" | "last", begin: () => void): Promise<void> {
    return new Promise((resolve) => {
      this.#onOutput.set(job.requestId, (isLast) => {
        if (which === "first" || isLast) resolve();
      });
      begin();
    });
  }
}

/** Returns the time of the import and the bytes that moved. */
async function importKv(
  decode: Probe,
  job: EngineJob,
  result: PrefillResult,
): Promise<{ importMs: number; bytes: number }> {
  const parts: Uint8Array[] = [];
  const start = nowMs();
  const plan = await decode.engine.prepareImport({ ...job, firstTokens: result.firstTokens });
  const wanted: KvPart[] = [...plan.missingBlocks, ...(plan.needsTail ? ["tail" as const] : [])];
  for (const part of wanted) {
    const bytes = (await result.staged?.read(part)) ?? new Uint8Array();
    parts.push(bytes);
    await decode.engine.importPart(job.requestId, part, bytes);
  }
  await decode.output(job, "first", () => decode.engine.decode(job.requestId));
  const importMs = nowMs() - start;
  return { importMs, bytes: parts.reduce((sum, part) => sum + part.length, 0) };
}

async function measureCost(prefill: Probe, decode: Probe, tokens: number): Promise<void> {
  const job = makeJob(tokens, 2);
  const result = await prefill.prefill(job);
  // The step that gave the first token announced its blocks; all since then is export and cutting.
  const exportMs = nowMs() - prefill.lastKvEventMs;
  const { importMs, bytes } = await importKv(decode, job, result);
  prefill.engine.release(job.requestId);
  const again = makeJob(tokens, 1);
  const start = nowMs();
  await decode.output(again, "last", () => decode.engine.generate(again));
  const recomputeMs = nowMs() - start;
  const ratio = (100 * (exportMs + importMs)) / recomputeMs;
  stdout.write(
    `${tokens} tokens, ${(bytes / 1e6).toFixed(1)} MB: export and cut ${exportMs.toFixed(1)} ms, ` +
      `join and import ${importMs.toFixed(1)} ms; computing again ${recomputeMs.toFixed(0)} ms; ` +
      `ratio ${ratio.toFixed(2)} %\n`,
  );
}

async function measureWait(prefill: Probe, decode: Probe, tokens: number): Promise<void> {
  const job = makeJob(tokens, 2);
  const result = await prefill.prefill(job);
  const others = [0, 1, 2].map(() => makeJob(64, 400));
  await Promise.all(
    others.map((other) => decode.output(other, "first", () => decode.engine.generate(other))),
  );
  for (const { requestId: id } of others) decode.watched.add(id);
  await stepsOf(decode, stepsAround);
  const before = gapsOf(decode);
  await importKv(decode, job, result);
  await stepsOf(decode, decode.stepTimes.length + 2);
  const during = gapsOf(decode).slice(before.length);
  const usual = before.toSorted((a, b) => a - b)[Math.floor(before.length / 2)] ?? 0;
  stdout.write(
    `${tokens} tokens imported beside 3 sequences: longest wait for a step ` +
      `${Math.max(...during).toFixed(1)} ms, usually ${usual.toFixed(1)} ms\n`,
  );
  prefill.engine.release(job.requestId);
  for (const { requestId: id } of others) decode.engine.abort(id);
  decode.watched.clear();
  decode.stepTimes.length = 0;
}

const stepsAround = 20;

async function stepsOf(probe: Probe, count: number): Promise<void> {
  while (probe.stepTimes.length < count) await clock.sleep(1);
}

function gapsOf({ stepTimes }: Probe): number[] {
  return stepTimes.slice(1).map((at, index) => at - (stepTimes[index] ?? at));
}

const [, , modelFile, ...counts] = argv;
const installed = await findLlamaEngine();
if (modelFile === undefined || installed === undefined) {
  stdout.write("usage: measure-handoff.ts MODEL [TOKENS…] (the llama engine must be installed)\n");
} else {
  const deps = { clock, random: new SystemRandom(), log: silentLogger() };
  const config = { installed, modelFile, env, contextLength: 4352, kvMemoryBytes: 2 ** 31 };
  const prefill = new Probe(new LlamaEngine(config, deps));
  const decode = new Probe(new LlamaEngine(config, deps));
  await Promise.all([prefill.start(), decode.start()]);
  const lengths = counts.length > 0 ? counts.map(Number) : [128, 1024, 4096];
  await measureCost(prefill, decode, 64);
  for (const tokens of lengths) await measureCost(prefill, decode, tokens);
  for (const tokens of lengths) await measureWait(prefill, decode, tokens);
  await Promise.all([prefill.engine.stop(), decode.engine.stop()]);
}
