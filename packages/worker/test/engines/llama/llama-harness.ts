/** Starts llama engines on the tiny model and asks them things. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBlockHasherFromModule } from "@baton/kv-router";
import type { GenerationParams, KvEvent, ServingError } from "@baton/protocol";
import { requestId } from "@baton/protocol";
import { RealClock, SeededRandom, silentLogger } from "@baton/runtime";
import { makeTinyGguf } from "../../../scripts/make-tiny-gguf.ts";
import type {
  EngineCard,
  EngineEvents,
  EngineJob,
  ImportPlan,
  KvPart,
  PrefillResult,
  StepOutput,
} from "../../../src/engine.ts";
import {
  findLlamaEngine,
  type InstalledLlamaEngine,
  installLlamaCommand,
} from "../../../src/engines/llama/install.ts";
import { LlamaEngine, type LlamaEngineConfig } from "../../../src/engines/llama/llama-engine.ts";

/** The engine of this checkout, if it is installed. */
export const installedLlama: InstalledLlamaEngine | undefined = await findLlamaEngine();
/** For titles of suites that need it. */
export const llamaTitle =
  installedLlama === undefined ? ` (skipped: run ${installLlamaCommand})` : "";

/** For `expect.poll`: a busy machine may take seconds for what is at once on an idle one. */
export const soon = { timeout: 20_000, interval: 5 };

const hasher = createBlockHasherFromModule();
let lastJob = 0;

export function job(tokens: readonly number[], params: Partial<GenerationParams> = {}): EngineJob {
  lastJob += 1;
  const prompt = Uint32Array.from(tokens);
  const blockHashes = hasher.blockHashes(prompt, 16);
  return {
    requestId: requestId(`r-${lastJob}`),
    dpRank: 0,
    tokens: prompt,
    blockHashes,
    sequenceHashes: hasher.sequenceHashes(blockHashes),
    params: { maxTokens: 12, temperature: 0, ignoreEos: true, ...params },
    lora: null,
    salt: null,
  };
}

/** Token ids that repeat from a seed and differ between seeds. */
export function promptOf(length: number, seed: number): number[] {
  const random = new SeededRandom(`prompt-${seed}`);
  return Array.from({ length }, () => 3 + (random.u32() % 600));
}

/** What a generation gave. */
export interface Generation {
  readonly tokens: readonly number[];
  readonly outputs: readonly StepOutput[];
  readonly cachedTokens: number;
  readonly finish: string | null;
}

interface Listener {
  onPrefilled?(result: PrefillResult): void;
  onStep?(output: StepOutput): void;
  onFailed(error: ServingError): void;
}

/** One engine, and everything that it told. */
export class TestEngine implements EngineEvents {
  readonly engine: LlamaEngine;
  readonly kvEvents: KvEvent[] = [];
  readonly lost: ServingError[] = [];
  /** Outputs per step, to see what ran side by side. */
  readonly steps: (readonly StepOutput[])[] = [];
  restored: Promise<void>;
  card: EngineCard | undefined;
  #restore: () => void = () => {};
  readonly #listeners = new Map<string, Listener>();

  constructor(config: LlamaEngineConfig) {
    this.engine = new LlamaEngine(config, {
      clock: new RealClock(),
      random: new SeededRandom("engine"),
      log: silentLogger(),
    });
    this.restored = new Promise((resolve) => {
      this.#restore = resolve;
    });
  }

  async start(): Promise<EngineCard> {
    this.card = await this.engine.start(this);
    return this.card;
  }

  onStep(outputs: readonly StepOutput[]): void {
    this.steps.push(outputs);
    for (const output of outputs) this.#listeners.get(output.requestId)?.onStep?.(output);
  }

  onPrefilled(result: PrefillResult): void {
    this.#listeners.get(result.requestId)?.onPrefilled?.(result);
  }

  onFailed(id: string, error: ServingError): void {
    this.#listeners.get(id)?.onFailed(error);
  }

  onKvEvents(_dpRank: number, events: readonly KvEvent[]): void {
    this.kvEvents.push(...events);
  }

  onLost(error: ServingError): void {
    this.lost.push(error);
    for (const listener of this.#listeners.values()) listener.onFailed(error);
  }

  onRestored(): void {
    this.#restore();
  }

  prefill(work: EngineJob): Promise<PrefillResult> {
    return new Promise((resolve, reject) => {
      this.#listeners.set(work.requestId, { onPrefilled: resolve, onFailed: reject });
      this.engine.prefill(work);
    });
  }

  /** Collects a request's output to its end; `begin` starts it. */
  collect(work: EngineJob, begin: () => void): Promise<Generation> {
    const outputs: StepOutput[] = [];
    return new Promise((resolve, reject) => {
      this.#listeners.set(work.requestId, {
        onFailed: reject,
        onStep: (output) => {
          outputs.push(output);
          const ended = outputs.filter(({ finish }) => finish !== null).length;
          if (ended < (work.params.n ?? 1)) return;
          resolve({
            tokens: outputs.flatMap(({ tokens }) => tokens),
            outputs,
            cachedTokens: output.cachedTokens,
            finish: output.finish,
          });
        },
      });
      begin();
    });
  }

  generate(work: EngineJob): Promise<Generation> {
    return this.collect(work, () => this.engine.generate(work));
  }
}

/** What moved in a handoff. */
export interface Handoff extends Generation {
  readonly plan: ImportPlan;
  readonly prefilled: PrefillResult;
}

/** Prefills on one engine, moves what the other lacks, and decodes there. */
export async function disaggregate(
  prefill: TestEngine,
  decode: TestEngine,
  work: EngineJob,
): Promise<Handoff> {
  const prefilled = await prefill.prefill(work);
  const incoming = { ...work, firstTokens: prefilled.firstTokens };
  const plan = await decode.engine.prepareImport(incoming);
  const parts: KvPart[] = [...plan.missingBlocks, ...(plan.needsTail ? ["tail" as const] : [])];
  for (const part of parts) {
    const bytes = await prefilled.staged?.read(part);
    if (bytes === undefined) throw new Error("nothing was staged");
    await decode.engine.importPart(work.requestId, part, bytes);
  }
  prefill.engine.release(work.requestId);
  const generation = await decode.collect(work, () => decode.engine.decode(work.requestId));
  return { ...generation, plan, prefilled };
}

/** A folder with the tiny model, and engines on it. Close it at the end. */
export class TinyModel {
  readonly folder: string;
  readonly #engines: TestEngine[] = [];

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(): Promise<TinyModel> {
    const model = new TinyModel(await mkdtemp(join(tmpdir(), "baton-tiny-")));
    await writeFile(model.path(1), makeTinyGguf(1));
    return model;
  }

  path(seed: number): string {
    return join(this.folder, `tiny-${seed}.gguf`);
  }

  /** An engine that is not started yet. */
  engine(config: Partial<LlamaEngineConfig> = {}): TestEngine {
    if (installedLlama === undefined) throw new Error("the llama engine is not installed");
    const engine = new TestEngine({
      installed: installedLlama,
      modelFile: this.path(1),
      contextLength: 1024,
      maxSequences: 4,
      stateBase: this.folder,
      ...config,
    });
    this.#engines.push(engine);
    return engine;
  }

  async started(config: Partial<LlamaEngineConfig> = {}): Promise<TestEngine> {
    const engine = this.engine(config);
    await engine.start();
    return engine;
  }

  async close(): Promise<void> {
    await Promise.all(this.#engines.map(({ engine }) => engine.stop()));
    await rm(this.folder, { recursive: true, force: true });
  }
}
