import {
  type CoreBooking,
  type CoreRequest,
  decodeOverrides,
  type RoutingCore,
  type Selection,
} from "@baton/kv-router";
import { type ActorId, actorId } from "@baton/protocol";
import type { Random } from "@baton/runtime";
import { replayGeneration } from "./replay-generation.ts";
import type { ReplayRequest } from "./replay-request.ts";
import type { ReplayWorker } from "./replay-worker.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** Which choice a router makes. */
export type Stage = CoreRequest["stage"];

type Selected = Extract<Selection, { kind: "selected" }>;

/** What a stage's router is given. */
export interface StageRouterDeps {
  readonly core: RoutingCore;
  readonly workers: readonly ReplayWorker[];
  readonly time: VirtualTime;
  readonly random: Random;
  /** Blocks in use, as a worker says. */
  readonly activeBlocksOf: (worker: ReplayWorker) => number;
  /** Sends a request to the worker that was chosen for it. */
  readonly dispatch: (request: ReplayRequest, worker: ReplayWorker) => void;
}

/** Predictions whose time is over are forgotten once in so many choices. */
const choicesPerSweep = 256;
const frontendId: ActorId = actorId("replay");

/** A router without a bus: chooses with the core, books, dispatches; what finds no room waits, first come, first served. */
export class StageRouter {
  readonly stage: Stage;
  readonly core: RoutingCore;
  /** Most requests that waited at a time. */
  mostWaiting = 0;
  readonly #blockSize: number;
  readonly #deps: StageRouterDeps;
  readonly #byId: ReadonlyMap<string, ReplayWorker>;
  #waiting: ReplayRequest[] = [];
  #head = 0;
  #choices = 0;

  constructor(
    options: { readonly stage: Stage; readonly blockSize: number },
    deps: StageRouterDeps,
  ) {
    this.stage = options.stage;
    this.core = deps.core;
    this.#blockSize = options.blockSize;
    this.#deps = deps;
    this.#byId = new Map(deps.workers.map((worker) => [worker.id, worker]));
  }

  /** Dispatches a request now, or when there is room. */
  place(request: ReplayRequest): void {
    if (this.#head === this.#waiting.length && this.#tryPlace(request)) return;
    this.#waiting.push(request);
    this.mostWaiting = Math.max(this.mostWaiting, this.#waiting.length - this.#head);
  }

  /** The worker has computed the prompt. */
  prefillCompleted(request: ReplayRequest): void {
    this.core.prefillCompleted(request.id, this.#deps.time.nowMs);
  }

  /** The request has left its worker: there may be room for one that waits. */
  release(request: ReplayRequest): void {
    this.core.release(request.id, this.#deps.time.nowMs);
    for (;;) {
      const next = this.#waiting[this.#head];
      if (next === undefined || !this.#tryPlace(next)) break;
      this.#head++;
    }
    if (this.#head > 1_024) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
  }

  #tryPlace(request: ReplayRequest): boolean {
    const { core, random, time } = this.#deps;
    this.#report();
    if (++this.#choices % choicesPerSweep === 0) core.sweep(time.nowMs);
    const selection = core.choose(this.#coreRequest(request), random.number());
    if (selection.kind === "none" && selection.reason === "all_busy") return false;
    const worker = selection.kind === "selected" ? this.#byId.get(selection.workerId) : undefined;
    if (selection.kind !== "selected" || worker === undefined) {
      throw new Error(`the core chose nobody for ${request.id}: ${JSON.stringify(selection)}`);
    }
    core.book(this.#booking(request, selection));
    this.#deps.dispatch(request, worker);
    return true;
  }

  /** Workers report each change at once; it is as good to ask them before each choice. */
  #report(): void {
    const { core, workers, activeBlocksOf } = this.#deps;
    for (const worker of workers) {
      core.reported({
        workerId: worker.id,
        generation: replayGeneration,
        accepting: true,
        activeBlocks: activeBlocksOf(worker),
        totalBlocks: worker.engine.options.blockCount,
      });
    }
  }

  #coreRequest(request: ReplayRequest): CoreRequest {
    const { stage } = this;
    return {
      nowMs: this.#deps.time.nowMs,
      workerType: stage,
      stage,
      promptTokens: request.promptTokens.length,
      blockSize: this.#blockSize,
      promptBlocks: request.sequenceHashes.length / 8,
      sequenceHashes: request.sequenceHashes,
      ...(stage === "decode" && { overrides: decodeOverrides() }),
    };
  }

  /** A decode leg brings its blocks along: they count as they are, and there is nothing to compute. */
  #booking(request: ReplayRequest, selected: Selected): CoreBooking {
    const isImported = this.stage === "decode";
    const promptTokens = request.promptTokens.length;
    return {
      bookingId: request.id,
      frontendId,
      frontendGeneration: replayGeneration,
      workerId: selected.workerId,
      generation: selected.generation,
      dpRank: selected.dpRank,
      blocks: request.promptBlocks,
      promptTokens,
      prefillTokens: isImported ? 0 : Math.max(0, promptTokens - selected.cachedTokens),
      sequenceHashes: isImported ? new Uint8Array(0) : request.sequenceHashes,
      expectedOutputTokens: null,
      atMs: this.#deps.time.nowMs,
    };
  }
}
