/**
 * One life of the engine's child: what it runs, what it holds, and what the worker holds for it. All of it
 * goes when the child goes. The step handler is hot: once a step, with all tokens of the step.
 */

import { type FinishReason, ServingError } from "@baton/protocol";
import type { Logger } from "pino";
import type {
  EngineEvents,
  EngineLoad,
  ImportPlan,
  KvPart,
  StagedKv,
  StepOutput,
} from "../../engine.ts";
import { Admission } from "./admission.ts";
import { BlockStore, type StoredBlock } from "./block-store.ts";
import type { ChildClient, RunEnd } from "./child-client.ts";
import type { RunOutput, StepEvent } from "./child-protocol.ts";
import { KvCache, type PromptKv } from "./kv-cache.ts";
import type { KvHoldings } from "./kv-holdings.ts";
import { checkPartBytes, type Import, type LlamaRequest } from "./llama-request.ts";
import { type Slot, SlotTable } from "./slot-table.ts";
import type { StateDir } from "./state-dir.ts";
import type { StateShape } from "./state-layout.ts";
import { choiceSeed } from "./token-draw.ts";

export interface SessionFacts {
  readonly blockSize: number;
  readonly contextLength: number;
  /** Tokens that end a generation. */
  readonly endTokens: ReadonlySet<number>;
  readonly slots: number;
  readonly storeBlocks: number;
  /** Blocks that all sequences can hold. */
  readonly totalBlocks: number;
  readonly shape: StateShape;
  readonly streamCount: number;
}

export interface SessionDeps {
  readonly client: ChildClient;
  readonly holdings: KvHoldings;
  readonly dir: StateDir;
  readonly events: EngineEvents;
  readonly log: Logger;
}

/** One run of the child. */
interface ActiveRun {
  readonly request: LlamaRequest;
  /** The choice that it generates; null for a prompt whose choices are yet to part. */
  readonly choice: number | null;
  /** Output tokens so far. */
  outputTokens: number;
}

/** How a run is to go. */
interface RunPlan {
  /** Leading tokens that the sequence holds. */
  readonly kept: number;
  readonly saveTo?: string;
  /** Goes on with one choice from its first token, which ends the request's chain. */
  readonly choice?: number;
}

export class LlamaSession {
  readonly #facts: SessionFacts;
  readonly #deps: SessionDeps;
  readonly #slots: SlotTable;
  readonly #store: BlockStore;
  readonly #admission: Admission;
  readonly #cache: KvCache;
  readonly #requests = new Map<string, LlamaRequest>();
  readonly #runs = new Map<number, ActiveRun>();
  readonly #staged = new Map<string, PromptKv>();
  #lastRun = 0;
  #lost: ServingError | undefined;

  constructor(facts: SessionFacts, deps: SessionDeps) {
    this.#facts = facts;
    this.#deps = deps;
    this.#slots = new SlotTable(facts.slots, deps.holdings);
    this.#store = new BlockStore(facts.storeBlocks, deps.holdings);
    this.#admission = new Admission(this.#slots, this.#store);
    this.#cache = new KvCache({
      client: deps.client,
      store: this.#store,
      slots: this.#slots,
      dir: deps.dir,
      shape: facts.shape,
      streamCount: facts.streamCount,
    });
  }

  /** Runs a request to its end, which it tells by the engine's events. */
  start(request: LlamaRequest): void {
    this.#requests.set(request.job.requestId, request);
    void this.#live(request);
  }

  /** All parts of an import have arrived. */
  decode(requestId: string): void {
    this.#requests.get(requestId)?.import?.arrived.resolve();
  }

  async importPart(requestId: string, part: KvPart, bytes: Uint8Array): Promise<void> {
    const request = this.#requests.get(requestId);
    const incoming = request?.import;
    if (request === undefined || incoming === undefined) {
      throw new ServingError("cancelled", { requestId });
    }
    const { blockSize } = this.#facts;
    const tokens = part === "tail" ? request.promptTokens % blockSize : blockSize;
    checkPartBytes(part, bytes.length, tokens * this.#cache.bytesPerToken);
    if (part === "tail") {
      incoming.tail = bytes;
      return;
    }
    const block = request.chain.blocks[part];
    if (block === undefined) checkPartBytes(part, bytes.length, 0);
    else if (incoming.blocks[part] === undefined) {
      const stored = this.#store.put(block, bytes);
      this.#store.pin([stored]);
      incoming.blocks[part] = stored;
    }
  }

  /** Drops a request, its staged KV included. */
  end(requestId: string, error: ServingError): void {
    const request = this.#requests.get(requestId);
    if (request === undefined) return;
    this.#requests.delete(requestId);
    if (request.run !== undefined) this.#deps.client.cancel(request.run);
    request.end(error);
    this.#unstage(request);
    this.#admission.pump();
  }

  /** Frees the staged KV of a prefill. */
  release(requestId: string): void {
    if (this.#staged.has(requestId)) this.end(requestId, new ServingError("cancelled"));
  }

  /** The child is gone, and with it everything. */
  lose(error: ServingError): void {
    this.#lost = error;
    for (const request of this.#requests.values()) request.end(error);
    this.#requests.clear();
    this.#staged.clear();
  }

  load(): EngineLoad {
    const activeBlocks = this.#countActiveBlocks();
    return {
      runningSequences: this.#runs.size,
      waitingSequences: this.#admission.waiting,
      activeBlocks,
      cachedBlocks: Math.max(0, this.#deps.holdings.size - activeBlocks),
      totalBlocks: this.#facts.totalBlocks,
      waitingPrefillTokens: this.#countWaitingTokens(),
    };
  }

  /** A step has ended. Called for each, also for those without tokens. */
  onStep(step: StepEvent): void {
    for (const [run, tokens] of step.held) this.#runs.get(run)?.request.slot?.setHeld(tokens);
    for (const [run, logprobs] of step.promptLogprobs) {
      this.#runs.get(run)?.request.promptLogprobs?.push(...logprobs);
    }
    const outputs: StepOutput[] = [];
    for (const output of step.outputs) {
      const active = this.#runs.get(output.run);
      if (active !== undefined) this.#takeOutput(active, output, outputs);
    }
    if (outputs.length > 0) this.#deps.events.onStep(outputs);
    this.#tellKv();
  }

  #takeOutput(active: ActiveRun, output: RunOutput, outputs: StepOutput[]): void {
    const { request, outputTokens } = active;
    const choice = active.choice ?? output.choice;
    if (active.choice !== null) {
      request.chain.push(output.token);
      active.outputTokens += 1;
    }
    const isFirst = !request.hasOutput;
    if (outputTokens === 0) request.firstOutputs[choice] = output;
    if (request.kind !== "prefill" && !request.isEnded) {
      const told = toStepOutput(request, choice, outputTokens, output);
      const { promptLogprobs } = request;
      outputs.push(isFirst && promptLogprobs !== null ? { ...told, promptLogprobs } : told);
    }
    request.hasOutput = true;
  }

  async #live(request: LlamaRequest): Promise<void> {
    try {
      // The worker is not called back from inside its own call.
      await Promise.resolve();
      if (request.import !== undefined) await this.#runImport(request, request.import);
      else if (request.kind === "prefill") await this.#runPrefill(request);
      else await this.#runGenerate(request);
    } catch (caught) {
      this.#tellFailure(request, ServingError.from(caught, "engine_failed"));
    } finally {
      if (!this.#staged.has(request.job.requestId)) {
        this.#requests.delete(request.job.requestId);
        this.#admission.leave(request);
      }
      this.#tellKv();
    }
  }

  #tellFailure(request: LlamaRequest, error: ServingError): void {
    request.import?.plan.reject(error);
    if (request.isEnded || this.#lost !== undefined) return;
    if (request.import === undefined || request.import.isPrepared) {
      this.#deps.events.onFailed(request.job.requestId, error);
    }
    request.end(error);
  }

  async #runPrefill(request: LlamaRequest): Promise<void> {
    const { chain, promptTokens } = request;
    const blocks = Math.ceil(promptTokens / this.#facts.blockSize);
    const slot = await this.#admission.enter(request, blocks, () => this.#cache.pickFor(chain));
    request.cachedTokens = await this.#loadPrefix(request, slot);
    request.check();
    const staged = await this.#prefillAndStage(request, slot);
    if (request.isEnded) {
      if (staged !== undefined) this.#store.unpin(staged.blocks);
      request.check();
    }
    if (staged !== undefined) this.#staged.set(request.job.requestId, staged);
    this.#tellPrefilled(request, staged);
  }

  /** The staged KV; undefined if the first token was the last, or if the request was cancelled. */
  async #prefillAndStage(request: LlamaRequest, slot: Slot): Promise<PromptKv | undefined> {
    const { dir } = this.#deps;
    const path = dir.newFile();
    try {
      const end = await this.#run(request, slot, { kept: request.cachedTokens, saveTo: path });
      this.#admission.leaveSlot(request);
      if (end !== "saved") return undefined;
      return await this.#cache.stage(path, request.chain, request.promptTokens);
    } finally {
      await dir.discard(path);
    }
  }

  #tellPrefilled(request: LlamaRequest, staged: PromptKv | undefined): void {
    const { firstOutputs, choices, promptLogprobs } = request;
    if (firstOutputs.length !== choices) {
      throw new ServingError("engine_protocol", { problem: "no token" });
    }
    this.#tellKv();
    this.#deps.events.onPrefilled({
      requestId: request.job.requestId,
      firstTokens: firstOutputs.map(({ token, logprobs }) => ({ id: token, logprobs })),
      finishReasons: firstOutputs.map(({ finish }) => finish),
      cachedTokens: request.cachedTokens,
      promptLogprobs,
      staged: staged === undefined ? null : this.#giveOut(request.job.requestId, staged),
      engineParams: null,
    });
  }

  #giveOut(requestId: string, kv: PromptKv): StagedKv {
    const all = kv.blocks.reduce((sum, { bytes }) => sum + bytes.length, kv.tail?.length ?? 0);
    return {
      blocks: kv.blocks.length,
      hasTail: kv.tail !== undefined,
      bytes: all,
      read: async (part) => {
        const bytes = part === "tail" ? kv.tail : kv.blocks[part]?.bytes;
        if (bytes === undefined || this.#staged.get(requestId) !== kv) {
          throw new ServingError("kv_transfer_failed", { problem: `part ${part} is gone` });
        }
        return bytes;
      },
    };
  }

  async #runGenerate(request: LlamaRequest): Promise<void> {
    const { chain } = request;
    const slot = await this.#admission.enter(request, 0, () => this.#cache.pickFor(chain));
    request.cachedTokens = await this.#loadPrefix(request, slot);
    request.check();
    await this.#run(request, slot, { kept: request.cachedTokens });
    if (request.choices > 1) await this.#runChoices(request, slot, request.firstOutputs);
  }

  /** The logits of a prompt are known only where it is computed. */
  async #loadPrefix(request: LlamaRequest, slot: Slot): Promise<number> {
    return await this.#cache.loadPrefix(slot, request.chain, request.promptLogprobs !== null);
  }

  /**
   * Generates what follows the first tokens, one choice after the other in one sequence: each takes the prompt's KV as it is
   * and is computed as if alone, so that it says the same wherever and beside whatever it runs.
   */
  async #runChoices(
    request: LlamaRequest,
    slot: Slot,
    firsts: readonly Pick<RunOutput, "token" | "finish">[],
  ): Promise<void> {
    const { promptTokens } = request;
    const prompt = request.chain.prefix(promptTokens);
    for (const [choice, { token, finish }] of firsts.entries()) {
      if (finish !== null) continue;
      request.check();
      request.chain = prompt.prefix(promptTokens);
      request.chain.push(token);
      slot.assign(request.chain, promptTokens);
      await this.#run(request, slot, { kept: promptTokens, choice });
    }
  }

  async #runImport(request: LlamaRequest, incoming: Import): Promise<void> {
    const { chain, promptTokens } = request;
    const { blockSize } = this.#facts;
    const blocks = Math.ceil(promptTokens / blockSize);
    const slot = await this.#admission.enter(request, blocks, () => this.#slots.findOldest());
    await this.#cache.spillFor(chain, slot);
    request.check();
    try {
      incoming.plan.resolve(this.#plan(request, incoming));
      incoming.isPrepared = true;
      await request.orEnd(incoming.arrived.promise);
      const kv = { blocks: takeParts(request, incoming, blockSize), tail: incoming.tail };
      await this.#cache.restore(slot, chain, promptTokens, kv);
    } finally {
      this.#store.unpin(incoming.blocks.filter((block) => block !== undefined));
      incoming.blocks.length = 0;
      incoming.tail = undefined;
    }
    this.#admission.leaveReservation(request);
    request.check();
    await this.#runChoices(request, slot, this.#tellFirstTokens(request, incoming));
  }

  #plan(request: LlamaRequest, incoming: Import): ImportPlan {
    const { chain, promptTokens } = request;
    const stored = this.#store.findPrefix(chain, chain.blocks.length);
    this.#store.pin(stored);
    incoming.blocks.push(...stored);
    request.cachedTokens = stored.length * this.#facts.blockSize;
    return {
      missingBlocks: chain.blocks.slice(stored.length).map((_, index) => stored.length + index),
      needsTail: promptTokens % this.#facts.blockSize !== 0,
      reusedBlocks: stored.length,
    };
  }

  /** The tokens that came with the KV are this side's first outputs. */
  #tellFirstTokens(request: LlamaRequest, incoming: Import): readonly RunOutput[] {
    const firsts = incoming.job.firstTokens.map(({ id, logprobs }, choice) => {
      const finish = this.#finishOfFirst(request, id);
      return { run: 0, choice, token: id, logprobs, finish };
    });
    if (firsts.length !== request.choices) {
      throw new ServingError("engine_protocol", { problem: "no token" });
    }
    request.hasOutput = true;
    const outputs = firsts.map((output) => toStepOutput(request, output.choice, 0, output));
    this.#deps.events.onStep(outputs);
    return firsts;
  }

  /** Why a choice ends with its first token, if it does: by the rules of the side that drew it. */
  #finishOfFirst(request: LlamaRequest, token: number): FinishReason | null {
    const { sampling, promptTokens } = request;
    const ignoresEnd = sampling.ignoreEos && sampling.grammar === null;
    const isEnd = this.#facts.endTokens.has(token) && !ignoresEnd;
    if (isEnd || sampling.stopTokenIds.includes(token)) return "stop";
    const isLast =
      request.job.params.maxTokens <= 1 || promptTokens + 1 >= this.#facts.contextLength;
    return isLast ? "length" : null;
  }

  async #run(request: LlamaRequest, slot: Slot, plan: RunPlan): Promise<RunEnd> {
    this.#lastRun += 1;
    const run = this.#lastRun;
    const { choices, sampling, chain, promptTokens } = request;
    const choice = plan.choice ?? (choices === 1 ? 0 : null);
    request.run = run;
    this.#runs.set(run, { request, choice, outputTokens: chain.length - promptTokens });
    const seedOf = (index: number): number => choiceSeed(sampling.seed, index);
    try {
      return await this.#deps.client.run({
        kind: "run",
        run,
        slot: slot.index,
        tokens: chain.tokens(chain.length),
        promptTokens,
        kept: plan.kept,
        sampling: { ...sampling, seed: seedOf(choice ?? 0) },
        choiceSeeds:
          choice === null ? Array.from({ length: choices }, (_, at) => seedOf(at)) : null,
        promptLogprobs:
          plan.choice === undefined ? (request.job.params.promptLogprobs ?? null) : null,
        maxTokens: request.job.params.maxTokens,
        saveTo: plan.saveTo ?? null,
      });
    } catch (error) {
      slot.clear();
      throw error;
    } finally {
      this.#runs.delete(run);
      request.run = undefined;
    }
  }

  #unstage(request: LlamaRequest): void {
    const { requestId } = request.job;
    const staged = this.#staged.get(requestId);
    if (staged === undefined) return;
    this.#staged.delete(requestId);
    this.#store.unpin(staged.blocks);
    this.#admission.leave(request);
  }

  #tellKv(): void {
    if (this.#lost !== undefined) return;
    const events = this.#deps.holdings.takeEvents();
    if (events.length > 0) this.#deps.events.onKvEvents(0, events);
  }

  /** Blocks of running sequences and of staged or arriving KV, shared ones counted once. */
  #countActiveBlocks(): number {
    const keys = new Set<bigint>();
    let partial = 0;
    for (const slot of this.#slots.slots) {
      if (!slot.busy || slot.chain === undefined) continue;
      for (const block of slot.chain.blocks.slice(0, slot.heldBlocks)) keys.add(block.key);
      if (slot.held % this.#facts.blockSize !== 0) partial += 1;
    }
    for (const { block } of this.#store.pinnedBlocks()) keys.add(block.key);
    return keys.size + partial;
  }

  #countWaitingTokens(): number {
    let tokens = 0;
    for (const request of this.#requests.values()) {
      if (request.import !== undefined || request.hasOutput) continue;
      tokens += Math.max(0, request.promptTokens - (request.slot?.held ?? 0));
    }
    return tokens;
  }
}

function takeParts(request: LlamaRequest, incoming: Import, blockSize: number): StoredBlock[] {
  const full = request.chain.blocks.length;
  const blocks = incoming.blocks.filter((block) => block !== undefined);
  const needsTail = request.promptTokens % blockSize !== 0;
  if (blocks.length < full || (needsTail && incoming.tail === undefined)) {
    throw new ServingError("kv_transfer_failed", { problem: "parts of the KV are missing" });
  }
  return blocks;
}

function toStepOutput(
  request: LlamaRequest,
  choice: number,
  offset: number,
  output: RunOutput,
): StepOutput {
  return {
    requestId: request.job.requestId,
    choice,
    offset,
    tokens: [output.token],
    logprobs: request.sampling.logprobs === null ? null : [output.logprobs],
    finish: output.finish,
    cachedTokens: request.cachedTokens,
  };
}
