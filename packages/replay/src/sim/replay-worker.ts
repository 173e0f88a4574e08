// Hot path: `#endPass` once per engine pass, millions in a long trace. Bench: bench/replay.bench.ts
import type { AddPrefilledOutcome, MockEngine, PassResult } from "@baton/mock-engine";
import type { WorkerId, WorkerType } from "@baton/protocol";
import type { ReplayRequest } from "./replay-request.ts";
import { Happening, type VirtualTime } from "./virtual-time.ts";

/** Width of a bin of a worker's load over time, ms. */
export const loadBinMs = 1_000;

/** Who hears what a worker's passes did. */
export type PassListener = (worker: ReplayWorker, result: PassResult<ReplayRequest>) => void;

/** A worker of the replay: one engine, whose passes follow each other in virtual time while there is work. */
export class ReplayWorker {
  readonly id: WorkerId;
  /** Number among the workers of its type, from 0. */
  readonly index: number;
  readonly type: WorkerType;
  readonly engine: MockEngine<ReplayRequest>;
  /** Requests that were sent here. */
  requests = 0;
  passes = 0;
  busyMs = 0;
  /** Time in passes by the bin in which they began, ms. */
  readonly busyByBin: number[] = [];
  /** The same, weighed with the share of the engine's blocks that was in use. */
  readonly usedByBin: number[] = [];
  /** Blocks of the prompts of the requests that are here, shared ones as often as they are shared. */
  promptBlocks = 0;
  readonly #time: VirtualTime;
  readonly #onPass: PassListener;
  readonly #passEnd = new Happening(() => this.#endPass());
  #isBusy = false;

  constructor(
    identity: { readonly id: WorkerId; readonly index: number; readonly type: WorkerType },
    engine: MockEngine<ReplayRequest>,
    deps: { readonly time: VirtualTime; readonly onPass: PassListener },
  ) {
    this.id = identity.id;
    this.index = identity.index;
    this.type = identity.type;
    this.engine = engine;
    this.#time = deps.time;
    this.#onPass = deps.onPass;
  }

  /** Takes a request that its engine computes. False if it can never run here. */
  compute(request: ReplayRequest): boolean {
    const { engine } = this;
    const outcome =
      this.type === "prefill" ? engine.addPrefill(request) : engine.addGenerate(request);
    this.#came(request);
    this.wake();
    return outcome.kind === "accepted";
  }

  /** Takes a request whose prompt another worker computed. */
  import(request: ReplayRequest): AddPrefilledOutcome<ReplayRequest> {
    const outcome = this.engine.addPrefilled(request, [request.plans[0]?.next(0) ?? 0]);
    this.#came(request);
    this.wake();
    return outcome;
  }

  /** A request has left. */
  left(request: ReplayRequest): void {
    this.promptBlocks -= request.promptBlocks;
  }

  /** Begins a pass if none is under way and there is something to do. */
  wake(): void {
    if (this.#isBusy) return;
    const { nowMs } = this.#time;
    const pass = this.engine.beginPass(nowMs);
    if (pass === undefined) return;
    this.#isBusy = true;
    this.#count(nowMs, pass.endsAtMs - nowMs);
    this.#time.plan(pass.endsAtMs, this.#passEnd);
  }

  #came(request: ReplayRequest): void {
    this.requests++;
    this.promptBlocks += request.promptBlocks;
  }

  #count(nowMs: number, lengthMs: number): void {
    const bin = Math.floor(nowMs / loadBinMs);
    const { activeBlocks, totalBlocks } = this.engine.load();
    addTo(this.busyByBin, bin, lengthMs);
    addTo(this.usedByBin, bin, (lengthMs * activeBlocks) / totalBlocks);
    this.busyMs += lengthMs;
    this.passes++;
  }

  #endPass(): void {
    // Whoever is placed here meanwhile shares the next pass.
    this.#onPass(this, this.engine.finishPass());
    this.#isBusy = false;
    this.wake();
  }
}

function addTo(bins: number[], bin: number, amount: number): void {
  while (bins.length <= bin) bins.push(0);
  bins[bin] = (bins[bin] ?? 0) + amount;
}
