import { decodeRouter } from "@baton/decode-router";
import { discovery } from "@baton/discovery";
import { frontend } from "@baton/frontend";
import { kvEventAggregator } from "@baton/kv-event-aggregator";
import { MemoryKvExchange, MemoryKvMover } from "@baton/kv-transfer";
import { prefillRouter } from "@baton/prefill-router";
import { ActorHeartbeat, type WorkerType } from "@baton/protocol";
import { type ActorDefinition, type RunningActor, readOptions } from "@baton/runtime";
import { type MemoryCluster, memoryCluster } from "@baton/testing";
import { builtInEngines, createWorker } from "@baton/worker";

/** Virtual milliseconds between two turns of the real loop, in which sockets are read and written. */
const turnMs = 1;
/** Virtual, or real where an engine reads its files. */
const readyBoundMs = 60_000;

/** One worker: its type, and the model that it serves. */
export interface WorkerPlan {
  readonly type: WorkerType;
  readonly model: string;
}

/**
 * A whole cluster in this process: a bus in memory, virtual time, and a Frontend with its API on a port. Time passes only within
 * `during`.
 */
export class MemoryServing {
  readonly cluster: MemoryCluster;
  readonly #actors: RunningActor[] = [];
  #api: string | null = null;

  private constructor(seed: number) {
    this.cluster = memoryCluster({ seed, namespace: "differential" });
  }

  /** Starts everything and waits until every model can be served. */
  static async start(
    workers: readonly WorkerPlan[],
    flags: Readonly<Record<string, unknown>>,
  ): Promise<MemoryServing> {
    const serving = new MemoryServing(1);
    serving.#hearFrontend();
    serving.#start(discovery, {});
    serving.#start(kvEventAggregator, {});
    serving.#start(prefillRouter, {});
    serving.#start(decodeRouter, {});
    serving.#start(frontend, { port: 0 });
    const exchange = new MemoryKvExchange();
    const worker = createWorker({
      engines: builtInEngines,
      createMover: (_, deps) => new MemoryKvMover({ exchange }, deps),
    });
    for (const { model, type } of workers) {
      serving.#start(worker, { "model-name": model, "worker-type": type, ...flags });
    }
    await serving.#untilReady(new Set(workers.map(({ model }) => model)));
    return serving;
  }

  /** Where the API is. */
  get api(): string {
    if (this.#api === null) throw new Error("the Frontend has said nothing of an API");
    return this.#api;
  }

  /** Lets time pass until something is over, and gives what it gives. */
  async during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    work.then(over, over);
    while (!isOver) await this.#turn();
    return await work;
  }

  /** The sum of a figure over everybody. */
  async metric(name: string, labels: Readonly<Record<string, string>>): Promise<number> {
    const page = await this.cluster.metrics.text();
    const fits = (line: string) =>
      line.startsWith(`${name}{`) &&
      Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`));
    const values = page
      .split("\n")
      .filter(fits)
      .map((line) => Number(line.split(" ").at(-1)));
    return values.reduce((sum, value) => sum + value, 0);
  }

  /** Everybody leaves, the Frontend first. */
  async stop(): Promise<void> {
    for (const actor of [...this.#actors].reverse()) await this.during(actor.drain());
  }

  #start<Config>(
    definition: ActorDefinition<Config>,
    flags: Readonly<Record<string, unknown>>,
  ): void {
    const id = `${definition.role}-${this.#actors.length}`;
    const config = readOptions(definition.options, { flags, env: {} });
    this.#actors.push(this.cluster.start(definition, config, { id }));
  }

  #hearFrontend(): void {
    const { subjects } = this.cluster;
    this.cluster.bus("ears").subscribe(subjects.heartbeats("frontend"), ({ payload }) => {
      this.#api = ActorHeartbeat.decode(payload).api ?? this.#api;
    });
  }

  async #untilReady(models: ReadonlySet<string>): Promise<void> {
    const untilMs = this.cluster.clock.nowMs() + readyBoundMs;
    while (!(await this.#isReady(models))) {
      if (this.cluster.clock.nowMs() > untilMs) {
        throw new Error(
          this.#actors.map(({ id, state, why }) => `${id} ${state} ${why}`).join(", "),
        );
      }
      for (let turn = 0; turn < 50; turn += 1) await this.#turn();
    }
  }

  async #isReady(models: ReadonlySet<string>): Promise<boolean> {
    if (this.#api === null || this.#actors.some(({ state }) => state !== "ready")) return false;
    for (const model of models) {
      const answer = await this.during(fetch(`${this.#api}/v1/models/${model}/ready`));
      if (answer.status !== 200) return false;
    }
    return true;
  }

  async #turn(): Promise<void> {
    await this.cluster.clock.advanceBy(turnMs);
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
}
