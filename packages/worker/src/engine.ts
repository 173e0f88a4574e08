import type {
  FinishReason,
  GenerationParams,
  KvEvent,
  OutputToken,
  RequestId,
  ServingError,
  TokenLogprobs,
} from "@baton/protocol";
import type { Clock, Random } from "@baton/runtime";
import type { Logger } from "pino";

/** What a worker tells the world about its engine. Fixed from `start` on, but for a restart of the engine. */
export interface EngineCard {
  /** `mock`, `llama`, … */
  readonly engine: string;
  /** Tokens per KV block. */
  readonly blockSize: number;
  /** Most tokens of prompt and output together. */
  readonly contextLength: number;
  readonly totalBlocks: number;
  readonly maxSequences: number;
  readonly maxBatchedTokens: number;
  readonly dpSize: number;
  /** What the engine's KV bytes are, by field; null if its KV never moves through Baton. */
  readonly descriptor: Readonly<Record<string, string | number | boolean>> | null;
  /** The compact tokenizer artifact, chat template included (`@baton/text`). */
  readonly tokenizer: Uint8Array;
  /**
   * Optional request features that it serves: `logprobs`, `prompt_logprobs`, `n`, `seed`, `logit_bias`, …; `grammar` if it keeps to
   * whatever `readOutputShape` reads, `grammar_logit_bias` if also beside a bias.
   */
  readonly capabilities: readonly string[];
}

/** One prompt with what is wanted of it. */
export interface EngineJob {
  readonly requestId: RequestId;
  readonly dpRank: number;
  readonly tokens: Uint32Array;
  /** 8 little-endian bytes per full block of the prompt. */
  readonly blockHashes: Uint8Array;
  readonly sequenceHashes: Uint8Array;
  readonly params: GenerationParams;
  readonly lora: string | null;
  readonly salt: string | null;
}

/** A prompt whose KV and first tokens come from another worker. */
export interface ImportJob extends EngineJob {
  /** One per choice, made by prefill; the first output of each choice. */
  readonly firstTokens: readonly OutputToken[];
}

/** What an engine lacks of a prompt's KV. */
export interface ImportPlan {
  /** Indices of full blocks to fetch, ascending. */
  readonly missingBlocks: readonly number[];
  /** Whether the tokens after the last full block must be fetched too. */
  readonly needsTail: boolean;
  /** Blocks that the engine holds already. */
  readonly reusedBlocks: number;
}

/** The index of a full block, or the part after the last one. */
export type KvPart = number | "tail";

/** A prompt's KV that waits to be fetched, as the engine gives it out. */
export interface StagedKv {
  /** Full blocks. */
  readonly blocks: number;
  readonly hasTail: boolean;
  /** Size of all parts in bytes. */
  readonly bytes: number;
  /** The bytes of one part. Rejects if it is gone. */
  read(part: KvPart): Promise<Uint8Array>;
}

/** The outcome of a prefill. */
export interface PrefillResult {
  readonly requestId: RequestId;
  readonly firstTokens: readonly OutputToken[];
  /** Per choice, null where the choice goes on. */
  readonly finishReasons: readonly (FinishReason | null)[];
  readonly cachedTokens: number;
  /** One entry per prompt token after the first; null if the job does not ask. */
  readonly promptLogprobs: readonly (TokenLogprobs | null)[] | null;
  /** The staged KV; null when every choice ended, or when the engine's own transport has it. */
  readonly staged: StagedKv | null;
  /** Opaque parameters of an engine that moves the KV itself. */
  readonly engineParams: Uint8Array | null;
}

/** The new tokens of one choice in one step. */
export interface StepOutput {
  readonly requestId: RequestId;
  readonly choice: number;
  /** Index of the first of `tokens` in the choice's output. After an import the first token has index 0 and is emitted again. */
  readonly offset: number;
  readonly tokens: readonly number[];
  readonly logprobs: readonly (TokenLogprobs | null)[] | null;
  /** Set with the last output of the choice. */
  readonly finish: FinishReason | null;
  /** Prompt tokens that the engine's own cache held. */
  readonly cachedTokens: number;
  /** Of a `generate` that asks for them, with the first output of choice 0: one entry per prompt token after the first. */
  readonly promptLogprobs?: readonly (TokenLogprobs | null)[];
}

/** What an engine tells its worker. Called synchronously, never from inside a call of the worker. */
export interface EngineEvents {
  /** All tokens of one engine step. */
  onStep(outputs: readonly StepOutput[]): void;
  onPrefilled(result: PrefillResult): void;
  /** One request has failed; the engine holds nothing of it any more. */
  onFailed(requestId: RequestId, error: ServingError): void;
  /** What the cache really holds has changed. */
  onKvEvents(dpRank: number, events: readonly KvEvent[]): void;
  /** The engine is gone, with every request, staged KV and cached block. It tries to come back by itself. */
  onLost(error: ServingError): void;
  /** The engine is back, empty. */
  onRestored(): void;
}

/** What an engine runs now. A number that it does not know is null. */
export interface EngineLoad {
  readonly runningSequences: number | null;
  readonly waitingSequences: number | null;
  readonly activeBlocks: number | null;
  readonly cachedBlocks: number | null;
  readonly totalBlocks: number | null;
  readonly waitingPrefillTokens: number | null;
}

/** What an engine is given. */
export interface EngineDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Computes tokens. It knows neither bus nor other engines. Work is handed in and never refused by exception: what
 * cannot run is answered by `onFailed`. A request is forgotten after its last output, failure, abort or release.
 */
export interface Engine {
  /** Makes the engine ready for work. Rejects with `engine_failed` or `config_invalid`. */
  start(events: EngineEvents): Promise<EngineCard>;
  /**
   * Computes a prompt and one token per choice, and stages the KV until `release`. The params are the client's own: one token
   * is sampled whatever `maxTokens` says, and a choice has ended only if the client's limits, or its token, end it.
   */
  prefill(job: EngineJob): void;
  /** Computes prompt and output. */
  generate(job: EngineJob): void;
  /**
   * Makes room for a prompt whose KV comes from elsewhere, waiting for room if need be, and says what it lacks.
   * Rejects with a `ServingError`; after `abort` with `cancelled`.
   */
  prepareImport(job: ImportJob): Promise<ImportPlan>;
  /** Takes one fetched part of a prepared import. Rejects with `kv_transfer_failed` if the bytes are not what they should be. */
  importPart(requestId: RequestId, part: KvPart, bytes: Uint8Array): Promise<void>;
  /** All parts have arrived: goes on from the first tokens, which it emits too. */
  decode(requestId: RequestId): void;
  /** Frees the staged KV of a prefill. Unknown ids are fine. */
  release(requestId: RequestId): void;
  /** Drops a request in whatever state, staged KV included, at the next step. Unknown ids are fine. */
  abort(requestId: RequestId): void;
  load(): EngineLoad;
  /** All that one rank's cache holds, as stored events, parents first. */
  dumpKv(dpRank: number): readonly KvEvent[];
  /** Ends at once. */
  stop(): Promise<void>;
}
