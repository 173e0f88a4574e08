import { ServingError } from "@baton/protocol";
import type {
  Engine,
  EngineCard,
  EngineDeps,
  EngineEvents,
  EngineFactory,
  WorkerConfig,
} from "@baton/worker";

type Job = Parameters<Engine["generate"]>[0];
type RequestId = Parameters<Engine["release"]>[0];
type ImportJob = Parameters<Engine["prepareImport"]>[0];
type Part = Parameters<Engine["importPart"]>[1];

/** An engine that may be lost with all it holds and comes back empty, or fails at what it begins. */
export class SimEngine implements Engine {
  readonly #make: () => Promise<Engine>;
  readonly #clock: EngineDeps["clock"];
  #inner: Engine;
  #events: EngineEvents | null = null;
  #isLost = false;
  #isFailing = false;
  /** What fails in a moment: told from outside of the call that began it. */
  readonly #failing = new Set<RequestId>();

  private constructor(make: () => Promise<Engine>, clock: EngineDeps["clock"], inner: Engine) {
    this.#make = make;
    this.#clock = clock;
    this.#inner = inner;
  }

  static async create(
    factory: EngineFactory,
    config: WorkerConfig,
    deps: EngineDeps,
  ): Promise<SimEngine> {
    const make = async () => factory(config, deps);
    return new SimEngine(make, deps.clock, await make());
  }

  /** The engine's process dies, and another one is there after `backAfterMs`. */
  lose(backAfterMs: number): void {
    const events = this.#events;
    if (this.#isLost || events === null) return;
    this.#isLost = true;
    this.#failing.clear();
    void this.#inner.stop();
    events.onLost(new ServingError("engine_lost", { problem: "the engine has crashed" }));
    this.#clock.setTimer(backAfterMs, () => void this.#comeBack(events));
  }

  /** From here on all that begins fails, as where nothing can be written any more. */
  beginToFail(): void {
    this.#isFailing = true;
  }

  stopFailing(): void {
    this.#isFailing = false;
  }

  start(events: EngineEvents): Promise<EngineCard> {
    this.#events = events;
    return this.#inner.start(events);
  }

  prefill(job: Job): void {
    if (this.#isFailing) this.#failSoon(job.requestId);
    else this.#inner.prefill(job);
  }

  generate(job: Job): void {
    if (this.#isFailing) this.#failSoon(job.requestId);
    else this.#inner.generate(job);
  }

  prepareImport(job: ImportJob): ReturnType<Engine["prepareImport"]> {
    if (this.#isFailing) return Promise.reject(engineFailed());
    return this.#inner.prepareImport(job);
  }

  importPart(requestId: RequestId, part: Part, bytes: Uint8Array): Promise<void> {
    return this.#inner.importPart(requestId, part, bytes);
  }

  decode(requestId: RequestId): void {
    this.#inner.decode(requestId);
  }

  release(requestId: RequestId): void {
    this.#failing.delete(requestId);
    this.#inner.release(requestId);
  }

  abort(requestId: RequestId): void {
    this.#failing.delete(requestId);
    this.#inner.abort(requestId);
  }

  load(): ReturnType<Engine["load"]> {
    return this.#inner.load();
  }

  dumpKv(dpRank: number): ReturnType<Engine["dumpKv"]> {
    return this.#inner.dumpKv(dpRank);
  }

  stop(): Promise<void> {
    this.#events = null;
    return this.#inner.stop();
  }

  #failSoon(requestId: RequestId): void {
    this.#failing.add(requestId);
    this.#clock.setTimer(0, () => {
      if (this.#failing.delete(requestId)) this.#events?.onFailed(requestId, engineFailed());
    });
  }

  async #comeBack(events: EngineEvents): Promise<void> {
    this.#inner = await this.#make();
    if (this.#events === null) return; // its worker has stopped meanwhile
    await this.#inner.start(events);
    this.#isLost = false;
    events.onRestored();
  }
}

function engineFailed(): ServingError {
  return new ServingError("engine_failed", { problem: "no space is left" });
}
