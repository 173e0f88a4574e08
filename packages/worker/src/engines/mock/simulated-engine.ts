// Hot path: `#tell` once per pass, over every new token. Budget 2 µs a token. Bench: bench/engines/mock/simulated-engine.bench.ts
import {
  type FinishReason as CoreFinish,
  type KvEvent as CoreKvEvent,
  MockEngine,
  noToken,
  type PassResult,
  type StepOutputs,
  type TimingModel,
} from "@baton/mock-engine";
import {
  type FinishReason,
  type KvEvent,
  type RequestId,
  ServingError,
  type TokenLogprobs,
} from "@baton/protocol";
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
  StepOutput,
} from "../../engine.ts";
import {
  logprobsOf,
  type MockRequest,
  type MockVoice,
  mockRequest,
  promptLogprobsOf,
} from "./mock-request.ts";
import { PassClock } from "./pass-clock.ts";
import { rejectionError } from "./rejection.ts";
import { StagedPrompt } from "./staged-prompt.ts";

/** What a simulated engine is made from. */
export interface SimulatedEngineOptions {
  readonly blocks: number;
  readonly blockSize: number;
  readonly maxNumSeqs: number;
  readonly maxBatchedTokens: number;
  readonly contextLength: number;
  /** Gigabytes a second of KV transfers; 0 for no delay. */
  readonly transferGbps: number;
  readonly timing: TimingModel;
  readonly voice: MockVoice;
  /** The tokenizer artifact. */
  readonly tokenizer: Uint8Array;
}

interface PendingImport {
  readonly resolve: (plan: ImportPlan) => void;
  readonly reject: (error: ServingError) => void;
}

/**
 * Features of a request that the simulation follows as a real engine would; the last five are taken and change nothing: the planned
 * text is by far the likeliest, and they would only reshape what is left.
 */
const capabilities = [
  "logprobs",
  "prompt_logprobs",
  "n",
  "seed",
  "logit_bias",
  "grammar",
  "min_tokens",
  "ignore_eos",
  "stop_token_ids",
  "top_k",
  "min_p",
  "repetition_penalty",
  "presence_penalty",
  "frequency_penalty",
];

/** The paged-attention simulation as an engine: one loop drives its passes on the Clock while there is work. */
export class SimulatedEngine implements Engine {
  readonly #options: SimulatedEngineOptions;
  readonly #deps: EngineDeps;
  readonly #core: MockEngine<MockRequest>;
  readonly #passes: PassClock;
  /** Imports that wait for room. */
  readonly #waiting = new Map<RequestId, PendingImport>();
  readonly #imports = new Map<RequestId, MockRequest>();
  /** First tokens of imports, told with the next step. */
  #arrivals: StepOutput[] = [];
  #failures: (readonly [RequestId, ServingError])[] = [];
  #events: EngineEvents | null = null;
  #isDriving = false;

  constructor(options: SimulatedEngineOptions, deps: EngineDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#passes = new PassClock(deps.clock);
    this.#core = new MockEngine<MockRequest>(
      {
        blockCount: options.blocks,
        blockSize: options.blockSize,
        maxNumSeqs: options.maxNumSeqs,
        maxNumBatchedTokens: options.maxBatchedTokens,
        maxModelLen: options.contextLength,
      },
      { hasher: options.voice.hasher, timing: options.timing },
    );
  }

  start(events: EngineEvents): Promise<EngineCard> {
    this.#events = events;
    const { blocks, blockSize, maxNumSeqs, maxBatchedTokens, contextLength } = this.#options;
    const { tokenizer, voice } = this.#options;
    return Promise.resolve({
      engine: "mock",
      blockSize,
      contextLength,
      totalBlocks: blocks,
      maxSequences: maxNumSeqs,
      maxBatchedTokens,
      dpSize: 1,
      descriptor: {
        engine: "mock",
        layout: "token-ids-1",
        blockSize,
        vocabularySize: voice.vocabularySize,
      },
      tokenizer,
      capabilities,
    });
  }

  prefill(job: EngineJob): void {
    this.#begin(job, "prefill");
  }

  generate(job: EngineJob): void {
    this.#begin(job, "generate");
  }

  async prepareImport(job: ImportJob): Promise<ImportPlan> {
    const request = mockRequest(job, "decode", this.#options.voice);
    request.firstTokens.push(...job.firstTokens);
    const outcome = this.#core.addPrefilled(
      request,
      job.firstTokens.map((token) => token.id),
    );
    if (outcome.kind === "rejected") throw rejectionError(outcome.reason);
    this.#imports.set(job.requestId, request);
    if (outcome.kind === "reserved") return this.#planOf(request, outcome.reservation.cachedBlocks);
    this.#wake();
    return await new Promise((resolve, reject) => {
      this.#waiting.set(job.requestId, { resolve, reject });
    });
  }

  importPart(requestId: RequestId, part: KvPart, bytes: Uint8Array): Promise<void> {
    const request = this.#imports.get(requestId);
    const full = Math.floor((request?.promptTokens.length ?? 0) / this.#options.blockSize);
    const outcome = this.#core.importBlock(requestId, part === "tail" ? full : part, bytes);
    if (outcome.kind === "imported") return Promise.resolve();
    return Promise.reject(
      new ServingError("kv_transfer_failed", { reason: outcome.reason, part: String(part) }),
    );
  }

  decode(requestId: RequestId): void {
    const outcome = this.#core.handoffArrived(requestId);
    this.#imports.delete(requestId);
    if (outcome.kind === "ready") {
      this.#read(outcome.outputs, this.#arrivals);
    } else {
      this.#core.cancel(requestId);
      this.#fail(
        requestId,
        new ServingError("kv_transfer_failed", { problem: "not every part was imported" }),
      );
    }
    this.#wake();
  }

  release(requestId: RequestId): void {
    if (this.#core.releaseHandoff(requestId)) this.#wake();
  }

  abort(requestId: RequestId): void {
    this.#imports.delete(requestId);
    this.#arrivals = this.#arrivals.filter((output) => output.requestId !== requestId);
    this.#failures = this.#failures.filter(([id]) => id !== requestId);
    const waiting = this.#waiting.get(requestId);
    this.#waiting.delete(requestId);
    if (this.#core.cancel(requestId)) this.#wake();
    waiting?.reject(new ServingError("cancelled", { requestId }));
  }

  load(): EngineLoad {
    const load = this.#core.load();
    return {
      runningSequences: load.runningSequences,
      waitingSequences: load.waitingSequences + load.queuedHandoffs,
      activeBlocks: load.activeBlocks,
      cachedBlocks: load.cachedBlocks,
      totalBlocks: load.totalBlocks,
      waitingPrefillTokens: load.waitingPrefillTokens,
    };
  }

  dumpKv(): readonly KvEvent[] {
    return this.#core.snapshot().map(toKvEvent);
  }

  stop(): Promise<void> {
    this.#events = null;
    for (const [requestId, waiting] of this.#waiting) {
      waiting.reject(new ServingError("cancelled", { requestId }));
    }
    this.#waiting.clear();
    this.#imports.clear();
    this.#arrivals = [];
    this.#failures = [];
    return Promise.resolve();
  }

  #begin(job: EngineJob, kind: "prefill" | "generate"): void {
    try {
      const request = mockRequest(job, kind, this.#options.voice);
      const core = this.#core;
      const outcome = kind === "prefill" ? core.addPrefill(request) : core.addGenerate(request);
      if (outcome.kind === "rejected") throw rejectionError(outcome.reason);
    } catch (caught) {
      this.#fail(job.requestId, ServingError.from(caught));
    }
    this.#wake();
  }

  #fail(requestId: RequestId, error: ServingError): void {
    this.#failures.push([requestId, error]);
  }

  #wake(): void {
    if (this.#isDriving || this.#events === null) return;
    this.#isDriving = true;
    this.#drive().catch((error: unknown) => {
      // The simulation has a bug: whatever it held is lost with it.
      this.#isDriving = false;
      this.#deps.log.error({ err: error }, "mock engine failed");
      this.#events?.onLost(ServingError.from(error, "engine_failed"));
    });
  }

  /** Runs passes until nothing is left to do. Gives way first, so that work that comes together shares a pass. */
  async #drive(): Promise<void> {
    await this.#deps.clock.yield();
    while (this.#events !== null) {
      const pass = this.#core.beginPass(this.#passes.beginMs());
      if (pass === undefined) {
        this.#tellIdle();
        // What was just told may have brought new work.
        if (!this.#hasUntold()) break;
        await this.#deps.clock.yield();
        continue;
      }
      await this.#passes.waitUntil(pass.endsAtMs);
      if (this.#events === null) return;
      this.#tell(this.#core.finishPass());
    }
    this.#passes.idle();
    this.#isDriving = false;
  }

  #hasUntold(): boolean {
    return this.#arrivals.length > 0 || this.#failures.length > 0;
  }

  #tellIdle(): void {
    this.#tellKv(this.#core.takeEvents());
    const arrivals = this.#arrivals;
    this.#arrivals = [];
    if (arrivals.length > 0) this.#events?.onStep(arrivals);
    this.#tellFailures();
  }

  #tell(result: PassResult<MockRequest>): void {
    for (const { request, cachedTokens } of result.prefills) request.cachedTokens = cachedTokens;
    const outputs = this.#arrivals;
    this.#arrivals = [];
    this.#read(result.outputs, outputs);
    this.#tellKv(result.events);
    for (const { request, cachedBlocks } of result.reserved) {
      const waiting = this.#waiting.get(request.job.requestId);
      this.#waiting.delete(request.job.requestId);
      waiting?.resolve(this.#planOf(request, cachedBlocks));
    }
    if (outputs.length > 0) this.#events?.onStep(outputs);
    for (const { request, kind, staged } of result.prefills) {
      if (kind === "prefill") this.#tellPrefilled(request, staged);
    }
    this.#tellFailures();
  }

  /** Copies a step's tokens: those of prefills to their requests, the others to `outputs`. */
  #read(from: StepOutputs<MockRequest>, outputs: StepOutput[]): void {
    for (let i = 0; i < from.count; i++) {
      const request = from.requests[i];
      const choice = from.choices[i];
      const offset = from.positions[i];
      const token = from.tokens[i];
      if (request === undefined || choice === undefined) continue;
      if (offset === undefined || token === undefined) continue;
      const finish = toFinish(from.finishes[i]);
      if (request.kind === "prefill") this.#noteFirst(request, choice, token, finish);
      else outputs.push(this.#outputOf(request, choice, offset, token, finish));
    }
  }

  #noteFirst(
    request: MockRequest,
    choice: number,
    token: number,
    finish: FinishReason | null,
  ): void {
    const logprobs = this.#logprobsOf(request, choice, 0, token);
    if (token !== noToken) request.firstTokens[choice] = { id: token, logprobs };
    request.firstFinishes[choice] = finish;
  }

  #outputOf(
    request: MockRequest,
    choice: number,
    offset: number,
    token: number,
    finish: FinishReason | null,
  ): StepOutput {
    const logprobs = this.#logprobsOf(request, choice, offset, token);
    const output = {
      requestId: request.job.requestId,
      choice,
      offset,
      tokens: token === noToken ? [] : [token],
      logprobs: logprobs === null ? null : [logprobs],
      finish,
      cachedTokens: request.cachedTokens,
    };
    const isFirst = request.kind === "generate" && choice === 0 && offset === 0;
    const promptLogprobs = isFirst ? this.#promptLogprobsOf(request) : null;
    return promptLogprobs === null ? output : { ...output, promptLogprobs };
  }

  #promptLogprobsOf(request: MockRequest): readonly TokenLogprobs[] | null {
    return promptLogprobsOf(request, this.#options.voice.vocabularySize);
  }

  #logprobsOf(request: MockRequest, choice: number, offset: number, token: number) {
    const { vocabularySize } = this.#options.voice;
    return token === noToken ? null : logprobsOf(request, choice, offset, token, vocabularySize);
  }

  #tellPrefilled(request: MockRequest, isStaged: boolean): void {
    const { requestId } = request.job;
    const { clock } = this.#deps;
    const { blockSize, transferGbps } = this.#options;
    this.#events?.onPrefilled({
      requestId,
      firstTokens: request.firstTokens,
      finishReasons: request.firstFinishes,
      cachedTokens: request.cachedTokens,
      promptLogprobs: this.#promptLogprobsOf(request),
      staged: isStaged
        ? new StagedPrompt({
            clock,
            blockSize,
            transferGbps,
            promptTokens: request.promptTokens.length,
            exportBlock: (index) => this.#core.exportBlock(requestId, index),
          })
        : null,
      engineParams: null,
    });
  }

  #tellKv(events: readonly CoreKvEvent[]): void {
    if (events.length > 0) this.#events?.onKvEvents(0, events.map(toKvEvent));
  }

  #tellFailures(): void {
    const failures = this.#failures;
    if (failures.length === 0) return;
    this.#failures = [];
    for (const [requestId, error] of failures) this.#events?.onFailed(requestId, error);
  }

  #planOf(request: MockRequest, cachedBlocks: number): ImportPlan {
    const { blockSize } = this.#options;
    const length = request.promptTokens.length;
    const missingBlocks: number[] = [];
    for (let block = cachedBlocks; block < Math.floor(length / blockSize); block++) {
      missingBlocks.push(block);
    }
    request.cachedTokens = cachedBlocks * blockSize;
    return { missingBlocks, needsTail: length % blockSize !== 0, reusedBlocks: cachedBlocks };
  }
}

function toFinish(finish: CoreFinish | undefined): FinishReason | null {
  if (finish === undefined) return null;
  return finish === "length" ? "length" : "stop";
}

function toKvEvent(event: CoreKvEvent): KvEvent {
  return event.kind === "stored" ? { ...event, parent: event.parent ?? null } : event;
}
