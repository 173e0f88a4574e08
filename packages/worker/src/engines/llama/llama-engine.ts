/** llama.cpp as an engine of a worker: one child process at a time, started again when it is lost. */

import { totalmem } from "node:os";
import { type BlockHasher, createBlockHasherFromModule } from "@baton/kv-router";
import { ServingError } from "@baton/protocol";
import type { Timer } from "@baton/runtime";
import type {
  Engine,
  EngineCard,
  EngineDeps,
  EngineEvents,
  EngineJob,
  EngineLoad,
  ImportJob,
  ImportPlan,
  KvPart,
} from "../../engine.ts";
import { BlockChain } from "./block-chain.ts";
import { type BootedChild, bootChild } from "./boot-child.ts";
import type { ChildClient, ChildClientEvents } from "./child-client.ts";
import { type StartChild, startEngineChild } from "./child-process.ts";
import type { InstalledLlamaEngine } from "./install.ts";
import { checkJob, llamaCapabilities, samplingOf } from "./job-options.ts";
import { KvHoldings } from "./kv-holdings.ts";
import { LlamaRequest } from "./llama-request.ts";
import { LlamaSession } from "./llama-session.ts";
import {
  chooseContextLength,
  kvBytesPerToken,
  type ModelFacts,
  readModelFacts,
} from "./model-facts.ts";
import { StateDir } from "./state-dir.ts";

/** Tokens of a block: what is handed over, reused and announced. */
export const llamaBlockSize = 16;

export interface LlamaEngineConfig {
  /** What `findLlamaEngine` or `installLlamaEngine` gave. */
  readonly installed: InstalledLlamaEngine;
  /** Path of a GGUF. */
  readonly modelFile: string;
  /** The child's environment; default empty. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Tokens of one sequence; default the model's, as far as `kvMemoryBytes` allows. */
  readonly contextLength?: number;
  /** Sequences computed side by side; default 4. */
  readonly maxSequences?: number;
  /** Threads of the child; default 1. The engines of one machine share its cores. */
  readonly threads?: number;
  /** Prompt chunks end at multiples of this; default 64. The same on all workers of a model. */
  readonly chunkTokens?: number;
  /** Most tokens of one step; default and least one chunk and a token for every sequence. */
  readonly stepTokens?: number;
  /** Most bytes for the cells of all sequences; default 1 GiB, or an eighth of the machine's memory if that is less. */
  readonly kvMemoryBytes?: number;
  /** Most bytes of the block store; default 512 MiB. Never less than one full sequence. */
  readonly storeBytes?: number;
  /** Where the private folder for states is made; default in memory if there is room, else the system's. */
  readonly stateBase?: string;
  /** How long a child with work may say nothing before it is killed; default 30 s. */
  readonly silentMs?: number;
  /** How long loading may take; default 120 s. */
  readonly loadMs?: number;
  /** Starts the child; for tests. */
  readonly startChild?: StartChild;
}

const defaults = {
  env: {},
  maxSequences: 4,
  threads: 1,
  chunkTokens: 64,
  kvMemoryBytes: Math.min(1 << 30, Math.floor(totalmem() / 8)),
  storeBytes: 512 << 20,
  silentMs: 30_000,
  loadMs: 120_000,
};
const firstPauseMs = 250;
const longestPauseMs = 30_000;
/** A child that lived this long was healthy: its loss begins a new row of pauses. */
const healthyMs = 60_000;

type Settings = Required<
  Omit<LlamaEngineConfig, "contextLength" | "stateBase" | "stepTokens" | "startChild">
> &
  Pick<LlamaEngineConfig, "contextLength" | "stateBase"> & {
    readonly stepTokens: number;
    readonly startChild: StartChild;
  };

/** Everything that stands from `start` on. */
interface Standing {
  readonly events: EngineEvents;
  readonly model: ModelFacts;
  readonly contextLength: number;
  readonly dir: StateDir;
}

interface Life {
  readonly session: LlamaSession;
  readonly child: BootedChild;
  readonly holdings: KvHoldings;
  readonly sinceMs: number;
}

export class LlamaEngine implements Engine {
  readonly #settings: Settings;
  readonly #deps: EngineDeps;
  readonly #hasher: BlockHasher;
  #standing: Standing | undefined;
  #life: Life | undefined;
  /** A child that is not ready yet. */
  #booting: ChildClient | undefined;
  #restart: Timer | undefined;
  #pauseMs = 0;
  #stopped = false;

  constructor(config: LlamaEngineConfig, deps: EngineDeps) {
    const { maxSequences = defaults.maxSequences, chunkTokens = defaults.chunkTokens } = config;
    const leastStep = maxSequences + chunkTokens;
    this.#settings = {
      ...defaults,
      startChild: startEngineChild,
      ...config,
      stepTokens: Math.max(config.stepTokens ?? 0, leastStep),
    };
    this.#deps = deps;
    this.#hasher = createBlockHasherFromModule();
  }

  /** The child's process id; undefined while there is none. */
  get childPid(): number | undefined {
    return this.#life?.child.client.pid;
  }

  async start(events: EngineEvents): Promise<EngineCard> {
    const { modelFile, maxSequences, kvMemoryBytes, stateBase } = this.#settings;
    const model = await readModelFacts(modelFile);
    const contextLength = chooseContextLength(
      model.gguf,
      this.#settings.contextLength ?? null,
      maxSequences,
      kvMemoryBytes,
    );
    const dir = await StateDir.create(this.#deps.random, kvMemoryBytes, stateBase);
    this.#standing = { events, model, contextLength, dir };
    try {
      return this.#card(await this.#boot(this.#standing), model);
    } catch (error) {
      await this.stop();
      throw ServingError.from(error, "engine_failed");
    }
  }

  prefill(job: EngineJob): void {
    this.#begin("prefill", job);
  }

  generate(job: EngineJob): void {
    this.#begin("generate", job);
  }

  prepareImport(job: ImportJob): Promise<ImportPlan> {
    try {
      const life = this.#living();
      const request = this.#requestOf(life, "import", job, job);
      life.session.start(request);
      return request.import?.plan.promise ?? Promise.reject(engineIsDown());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  importPart(requestId: string, part: KvPart, bytes: Uint8Array): Promise<void> {
    if (this.#life === undefined) return Promise.reject(engineIsDown());
    return this.#life.session.importPart(requestId, part, bytes);
  }

  decode(requestId: string): void {
    this.#life?.session.decode(requestId);
  }

  release(requestId: string): void {
    this.#life?.session.release(requestId);
  }

  abort(requestId: string): void {
    this.#life?.session.end(requestId, new ServingError("cancelled"));
  }

  load(): EngineLoad {
    return this.#life?.session.load() ?? emptyLoad;
  }

  dumpKv(dpRank: number): ReturnType<Engine["dumpKv"]> {
    return dpRank === 0 ? (this.#life?.holdings.dump() ?? []) : [];
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#restart?.cancel();
    this.#booting?.close();
    const life = this.#life;
    this.#life = undefined;
    life?.session.lose(new ServingError("engine_lost", { problem: "the engine is stopped" }));
    life?.child.client.close();
    await this.#standing?.dir.remove();
  }

  #begin(kind: "prefill" | "generate", job: EngineJob): void {
    try {
      const life = this.#living();
      life.session.start(this.#requestOf(life, kind, job));
    } catch (caught) {
      const error = ServingError.from(caught);
      // Never from inside the worker's call.
      queueMicrotask(() => this.#standing?.events.onFailed(job.requestId, error));
    }
  }

  #living(): Life {
    if (this.#life === undefined) throw engineIsDown();
    return this.#life;
  }

  /** Throws the error of a job that cannot run here. */
  #requestOf(
    { child }: Life,
    kind: LlamaRequest["kind"],
    job: EngineJob,
    importJob?: ImportJob,
  ): LlamaRequest {
    checkJob(job, child);
    const chain = new BlockChain(this.#hasher, llamaBlockSize, job.tokens, job.salt, job);
    return new LlamaRequest(kind, job, chain, samplingOf(job, this.#deps.random), importJob);
  }

  async #boot(standing: Standing): Promise<Life> {
    const { clock, log } = this.#deps;
    const holdings = new KvHoldings();
    let session: LlamaSession | undefined;
    const childEvents: ChildClientEvents = {
      onStep: (step) => session?.onStep(step),
      onLog: (level, line) => {
        if (level === "error" || level === "fatal") log.warn({ line }, "llama.cpp complains");
        else log.debug({ level, line }, "llama.cpp says");
      },
      onLost: (error) => this.#lose(error),
    };
    const { contextLength, dir, model, events } = standing;
    const child = await bootChild(
      { ...this.#settings, modelPath: this.#settings.modelFile, contextLength },
      {
        clock,
        dir,
        modelSha256: model.sha256,
        blockSize: llamaBlockSize,
        onStarted: (client) => {
          this.#booting = client;
        },
      },
      childEvents,
    );
    this.#booting = undefined;
    const slots = this.#settings.maxSequences;
    const sequenceBlocks = Math.ceil(child.contextLength / llamaBlockSize);
    const blockBytes = llamaBlockSize * kvBytesPerToken(model.gguf);
    const facts = {
      blockSize: llamaBlockSize,
      contextLength: child.contextLength,
      endTokens: child.endTokens,
      slots,
      storeBlocks: Math.max(sequenceBlocks, Math.floor(this.#settings.storeBytes / blockBytes)),
      totalBlocks: slots * sequenceBlocks,
      shape: child.shape,
      streamCount: child.streamCount,
    };
    session = new LlamaSession(facts, { client: child.client, holdings, dir, events, log });
    const life = { session, child, holdings, sinceMs: clock.nowMs() };
    this.#life = life;
    return life;
  }

  #card({ child }: Life, model: ModelFacts): EngineCard {
    const { maxSequences, stepTokens } = this.#settings;
    return {
      engine: "llama",
      blockSize: llamaBlockSize,
      contextLength: child.contextLength,
      totalBlocks: maxSequences * Math.ceil(child.contextLength / llamaBlockSize),
      maxSequences,
      maxBatchedTokens: stepTokens,
      dpSize: 1,
      descriptor: child.descriptor,
      tokenizer: model.tokenizer,
      capabilities: llamaCapabilities(child),
    };
  }

  /** A child that served is gone. One that never came up is `#boot`'s to report. */
  #lose(error: ServingError): void {
    const life = this.#life;
    if (life === undefined || this.#stopped) return;
    this.#life = undefined;
    const { clock, log } = this.#deps;
    if (clock.nowMs() - life.sinceMs >= healthyMs) this.#pauseMs = 0;
    log.error({ code: error.code, problem: error.details.problem }, "engine lost");
    life.session.lose(error);
    this.#standing?.events.onKvEvents(0, [{ kind: "cleared" }]);
    this.#standing?.events.onLost(error);
    this.#scheduleRestart();
  }

  #scheduleRestart(): void {
    const { clock, log } = this.#deps;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(longestPauseMs, Math.max(firstPauseMs, 2 * pauseMs));
    this.#restart = clock.setTimer(pauseMs, () => {
      this.#comeBack().catch((error: unknown) => {
        log.error({ error: String(error), pauseMs: this.#pauseMs }, "engine did not come back");
        if (!this.#stopped) this.#scheduleRestart();
      });
    });
  }

  async #comeBack(): Promise<void> {
    if (this.#standing === undefined || this.#stopped) return;
    await this.#boot(this.#standing);
    this.#standing.events.onRestored();
  }
}

const emptyLoad: EngineLoad = {
  runningSequences: 0,
  waitingSequences: 0,
  activeBlocks: 0,
  cachedBlocks: 0,
  totalBlocks: 0,
  waitingPrefillTokens: 0,
};

function engineIsDown(): ServingError {
  return new ServingError("engine_lost", { problem: "the engine is starting again" });
}
