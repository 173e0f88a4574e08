// Hot path: `#passEnded` once per engine pass, over every output token. Bench: bench/replay.bench.ts
import type { BlockHasher, RoutingCore } from "@baton/kv-router";
import {
  BlockPool,
  type EngineOptions,
  type HandoffReservation,
  MockEngine,
  type PassResult,
  polynomialTiming,
  type StepOutputs,
  transferMs,
} from "@baton/mock-engine";
import { workerId } from "@baton/protocol";
import type { Random } from "@baton/runtime";
import type { Arrival } from "../trace/plan-arrivals.ts";
import { KvFeed } from "./kv-feed.ts";
import { Measurements } from "./measurements.ts";
import { type PoolShape, stagesOf } from "./pool-shape.ts";
import { PromptMaker } from "./prompt-maker.ts";
import { replayGeneration } from "./replay-generation.ts";
import { ReplayRequest } from "./replay-request.ts";
import { ReplayWorker } from "./replay-worker.ts";
import { type Stage, StageRouter } from "./stage-router.ts";
import { Happening, VirtualTime } from "./virtual-time.ts";

/** KV bytes a token of an 8-billion-parameter model: what transfer times are computed with. */
const simulatedBytesPerToken = 131_072;

/** What is simulated. */
export interface SimulationOptions {
  readonly shape: PoolShape;
  /** KV blocks of each worker. */
  readonly blocks: number;
  /** Tokens a block. */
  readonly blockSize: number;
  /** Tokens an id of the trace stands for. */
  readonly traceBlockSize: number;
  /** How long KV events are on their way to the router, ms. Everything else that workers say is heard at once. */
  readonly eventDelayMs: number;
  /** Speed of a handoff, 10⁹ bytes a second; 0 for no delay. */
  readonly transferGbps: number;
  /** All workers of a stage share one cache as large as all of theirs: a bound on what routing could do. */
  readonly pooledCache: boolean;
}

/** What a simulation is given. */
export interface SimulationDeps {
  readonly hasher: BlockHasher;
  readonly random: (stage: Stage) => Random;
  /** A core with the policy of a stage; its workers are set afterwards. */
  readonly createCore: (stage: Stage) => RoutingCore;
  /** Called as requests end. */
  readonly onProgress?: ((ended: number) => void) | undefined;
}

/** What came out of a simulation. */
export interface SimulationResult {
  readonly measurements: Measurements;
  readonly workers: readonly ReplayWorker[];
  /** When the last request ended, virtual ms. */
  readonly durationMs: number;
  readonly digest: string;
  /** Most requests that waited in a router at a time. */
  readonly mostWaiting: number;
}

/** One replay: arrivals through routers and engines in virtual time. Runs once. */
export class Simulation {
  readonly #arrivals: readonly Arrival[];
  readonly #options: SimulationOptions;
  readonly #deps: SimulationDeps;
  readonly #time = new VirtualTime();
  readonly #measured = new Measurements();
  readonly #prompts: PromptMaker;
  readonly #workers: ReplayWorker[] = [];
  /** The router that a request comes to first. */
  readonly #first: StageRouter;
  readonly #firstFeed: KvFeed;
  /** The router of the second leg, if the first only computes prompts. */
  readonly #second: StageRouter | null;
  readonly #turns = new Map<number, Arrival[]>();
  #nextArrival = 0;
  #over = 0;

  constructor(arrivals: readonly Arrival[], options: SimulationOptions, deps: SimulationDeps) {
    this.#arrivals = arrivals.filter(({ after }) => after === null);
    this.#options = options;
    this.#deps = deps;
    this.#prompts = new PromptMaker(options);
    for (const arrival of arrivals) {
      if (arrival.after === null) continue;
      const turns = this.#turns.get(arrival.after) ?? [];
      turns.push(arrival);
      this.#turns.set(arrival.after, turns);
    }
    const [first, second = null] = stagesOf(options.shape).map(({ stage, workers }) =>
      this.#openStage(stage, workers),
    );
    if (first === undefined) throw new Error("a shape without stages");
    this.#first = first;
    this.#second = second;
    this.#firstFeed = new KvFeed(options.eventDelayMs, { core: first.core, time: this.#time });
  }

  /** Runs until every request has ended. */
  run(): SimulationResult {
    this.#planNextArrival();
    this.#time.run();
    const routers = this.#second === null ? [this.#first] : [this.#first, this.#second];
    return {
      measurements: this.#measured,
      workers: this.#workers,
      durationMs: this.#time.nowMs,
      digest: this.#measured.digest.end(),
      mostWaiting: Math.max(...routers.map(({ mostWaiting }) => mostWaiting)),
    };
  }

  #openStage(stage: Stage, count: number): StageRouter {
    const workers = this.#openWorkers(stage, count);
    this.#workers.push(...workers);
    const { pooledCache, blocks, blockSize } = this.#options;
    const core = this.#deps.createCore(stage);
    core.setWorkers(
      workers.map(({ id, type, engine: { options } }) => ({
        id,
        generation: replayGeneration,
        workerType: type,
        dpStartRank: 0,
        dpSize: 1,
        taints: new Set<string>(),
        draining: false,
        maxSequences: options.maxNumSeqs,
        maxBatchedTokens: options.maxNumBatchedTokens,
        totalBlocks: blocks,
        blockSize,
      })),
    );
    return new StageRouter(
      { stage, blockSize },
      {
        core,
        workers,
        time: this.#time,
        random: this.#deps.random(stage),
        activeBlocksOf: pooledCache
          ? ({ promptBlocks }) => promptBlocks
          : ({ engine }) => engine.load().activeBlocks,
        dispatch: (request, worker) => this.#dispatch(request, worker),
      },
    );
  }

  #openWorkers(type: Stage, count: number): ReplayWorker[] {
    const { blocks, blockSize, pooledCache } = this.#options;
    const engineOptions: EngineOptions = { blockCount: blocks, blockSize };
    const poolOptions = { blockCount: blocks * count, blockSize, prefixCaching: true };
    const pool = pooledCache ? new BlockPool(poolOptions) : undefined;
    const timing = polynomialTiming();
    const { hasher } = this.#deps;
    return Array.from({ length: count }, (_, index) => {
      const engine = new MockEngine<ReplayRequest>(engineOptions, { hasher, timing, pool });
      return new ReplayWorker({ id: workerId(`${type}-${index}`), index, type }, engine, {
        time: this.#time,
        onPass: (worker, result) => this.#passEnded(worker, result),
      });
    });
  }

  #planNextArrival(): void {
    const arrival = this.#arrivals[this.#nextArrival++];
    if (arrival === undefined) return;
    const happening = new Happening(() => {
      this.#arrive(arrival);
      this.#planNextArrival();
    });
    this.#time.plan(arrival.atMs, happening);
  }

  #arrive(arrival: Arrival): void {
    const prompt = this.#prompts.make(arrival.row, arrival.index);
    const { blockSize } = this.#options;
    this.#first.place(new ReplayRequest(arrival, prompt, this.#time.nowMs, blockSize));
  }

  #dispatch(request: ReplayRequest, worker: ReplayWorker): void {
    const { nowMs } = this.#time;
    this.#measured.digest.add("chosen", nowMs, request.index, worker.index);
    if (worker.type === "decode") {
      this.#import(request, worker);
      return;
    }
    request.prefillWorker = worker;
    if (worker.compute(request)) return;
    this.#measured.refuse(request, nowMs);
    this.#leave(request, worker, this.#first);
    this.#finish(request);
  }

  #import(request: ReplayRequest, worker: ReplayWorker): void {
    request.decodeWorker = worker;
    const outcome = worker.import(request);
    if (outcome.kind === "reserved") this.#transfer(outcome.reservation, worker);
    // What prefill could hold, decode can too: its workers have as many blocks.
    if (outcome.kind === "rejected") throw new Error(`decode refused ${request.id}`);
  }

  /** What the decode worker does not have comes over from the prefill worker. */
  #transfer({ request, cachedBlocks }: HandoffReservation<ReplayRequest>, to: ReplayWorker): void {
    const { blockSize, transferGbps } = this.#options;
    const tokens = Math.max(0, request.promptTokens.length - cachedBlocks * blockSize);
    const delayMs = transferMs(tokens, simulatedBytesPerToken, transferGbps);
    const arrived = new Happening(() => this.#handedOver(request, to));
    this.#time.plan(this.#time.nowMs + delayMs, arrived);
  }

  #handedOver(request: ReplayRequest, worker: ReplayWorker): void {
    const outcome = worker.engine.handoffArrived(request.id, "simulated");
    if (outcome.kind !== "ready") throw new Error(`no handoff of ${request.id} was awaited`);
    this.#count(outcome.outputs);
    const source = request.prefillWorker;
    if (source?.engine.releaseHandoff(request.id) === true) {
      this.#leave(request, source, this.#first);
      source.wake();
    }
    if (outcome.ended) this.#complete(request, worker);
    worker.wake();
  }

  #passEnded(worker: ReplayWorker, result: PassResult<ReplayRequest>): void {
    const { nowMs } = this.#time;
    this.#measured.digest.add("pass", nowMs, worker.index, result.outputs.count);
    const isFirst = worker.type !== "decode";
    if (isFirst) this.#firstFeed.tell(worker, result.events);
    for (const { request, cachedTokens, kind } of result.prefills) {
      if (kind === "decode") continue;
      this.#measured.prefilled(request, cachedTokens / this.#options.blockSize);
      this.#first.prefillCompleted(request);
    }
    if (worker.type !== "prefill") this.#count(result.outputs);
    for (const reservation of result.reserved) this.#transfer(reservation, worker);
    for (const { request, staged } of result.prefills) if (staged) this.#second?.place(request);
    for (const request of result.ended) {
      // A prefill worker's own word is the client's only where nothing follows.
      if (worker.type === "prefill") this.#measured.token(request, nowMs);
      this.#complete(request, worker);
    }
    if (this.#options.pooledCache) this.#wakeOthers(worker);
  }

  #count(outputs: StepOutputs<ReplayRequest>): void {
    const { nowMs } = this.#time;
    for (let at = 0; at < outputs.count; at++) {
      const request = outputs.requests[at];
      if (request !== undefined) this.#measured.token(request, nowMs);
    }
  }

  #complete(request: ReplayRequest, worker: ReplayWorker): void {
    this.#measured.ended(request, this.#time.nowMs);
    this.#leave(request, worker, worker.type === "decode" ? this.#second : this.#first);
    this.#finish(request);
  }

  #leave(request: ReplayRequest, worker: ReplayWorker, router: StageRouter | null): void {
    worker.left(request);
    router?.release(request);
  }

  /** A request is over, however it ended: the session's next turn may come. */
  #finish(request: ReplayRequest): void {
    this.#deps.onProgress?.(++this.#over);
    for (const turn of this.#turns.get(request.index) ?? []) {
      const happening = new Happening(() => this.#arrive(turn));
      this.#time.plan(this.#time.nowMs + turn.delayMs, happening);
    }
  }

  /** What one gave back to a shared pool, another may have waited for. */
  #wakeOthers(worker: ReplayWorker): void {
    for (const other of this.#workers) if (other !== worker) other.wake();
  }
}
