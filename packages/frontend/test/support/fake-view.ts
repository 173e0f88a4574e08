import {
  type ClusterView,
  describeModel,
  type ModelView,
  type WorkerView,
} from "@baton/cluster-view";
import {
  type LoadReport,
  modelName,
  type WorkerId,
  type WorkerRegistration,
  type WorkerType,
  workerId,
} from "@baton/protocol";

/** What a test says about a worker. */
export interface WorkerSpec {
  readonly id: string;
  readonly type: WorkerType;
  readonly model?: string;
  readonly generation?: number;
  readonly needs?: readonly (readonly WorkerType[])[];
  readonly card?: Partial<WorkerRegistration["card"]>;
}

export const allCapabilities = [
  "logprobs",
  "n",
  "seed",
  "logit_bias",
  "min_tokens",
  "ignore_eos",
  "penalties",
  "stop_token_ids",
];

/** A worker's registration, with what a test does not care about filled in. */
export function registrationOf(spec: WorkerSpec): WorkerRegistration {
  const peer = spec.type === "prefill" ? "decode" : "prefill";
  const needs = spec.needs ?? (spec.type === "aggregated" ? [] : [[peer]]);
  return {
    id: spec.id,
    generation: spec.generation ?? 1,
    namespace: "test",
    workerType: spec.type,
    set: spec.type,
    needs: needs.map((all) => [...all]),
    card: {
      model: spec.model ?? "m",
      modelType: ["chat", "completions"],
      engine: "mock",
      blockSize: 4,
      hashSalt: "",
      contextLength: 64,
      tokenizerChecksum: "checksum",
      descriptor: null,
      capabilities: allCapabilities,
      ...spec.card,
    },
    capacity: {
      totalBlocks: 100,
      maxSequences: 8,
      maxBatchedTokens: 1024,
      dpStartRank: 0,
      dpSize: 1,
    },
    topology: {},
    taints: [],
    kvTransfer: null,
    host: "here",
    pid: 1,
    admin: null,
  };
}

/** A cluster as a test says it is. */
export class FakeView implements ClusterView {
  synced = true;
  readonly workers = new Map<string, WorkerView>();
  readonly #onChange: (() => void)[] = [];
  readonly #onLost: ((worker: WorkerView, why: string) => void)[] = [];
  readonly #onLoad: ((report: LoadReport) => void)[] = [];

  constructor(specs: readonly WorkerSpec[]) {
    for (const spec of specs) this.add(spec);
  }

  add(spec: WorkerSpec): void {
    const registration = registrationOf(spec);
    this.workers.set(spec.id, {
      id: workerId(spec.id),
      generation: registration.generation,
      registration,
      workerType: spec.type,
      state: "live",
      load: null,
    });
    this.change();
  }

  change(): void {
    for (const listener of this.#onChange) listener();
  }

  lose(id: string, why = "silent"): void {
    const worker = this.workers.get(id);
    if (worker === undefined) throw new Error(`no worker ${id}`);
    const lost = { ...worker, state: "lost" } as const;
    this.workers.set(id, lost);
    for (const listener of this.#onLost) listener(lost, why);
    this.change();
  }

  load(id: string, liveBookings: readonly string[] | null): void {
    const report: LoadReport = {
      workerId: workerId(id),
      generation: this.workers.get(id)?.generation ?? 0,
      sequence: 0,
      accepting: true,
      runningSequences: null,
      waitingSequences: null,
      activeBlocks: null,
      cachedBlocks: null,
      totalBlocks: null,
      waitingPrefillTokens: null,
      handoffsHeld: 0,
      endedBookings: [],
      liveBookings: liveBookings as LoadReport["liveBookings"],
      prefilledBookings: [],
      refusedBookings: [],
      liveStates: null,
    };
    for (const listener of this.#onLoad) listener(report);
  }

  models(): readonly ModelView[] {
    const names = new Set([...this.workers.values()].map((one) => one.registration.card.model));
    return [...names].flatMap((name) => this.model(name) ?? []);
  }

  model(name: string): ModelView | undefined {
    const workers = [...this.workers.values()].filter(
      ({ registration }) => registration.card.model === name,
    );
    if (workers.length === 0) return undefined;
    const catalog = describeModel(
      name,
      workers.map(({ registration, state }) => ({ registration, state, conflicts: [] })),
    );
    return { model: modelName(name), catalog, workers };
  }

  worker(id: WorkerId): WorkerView | undefined {
    return this.workers.get(id);
  }

  onChange(listener: () => void): () => void {
    this.#onChange.push(listener);
    return () => undefined;
  }

  onWorkerLost(listener: (worker: WorkerView, why: string) => void): () => void {
    this.#onLost.push(listener);
    return () => undefined;
  }

  onLoad(listener: (report: LoadReport) => void): () => void {
    this.#onLoad.push(listener);
    return () => undefined;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): void {
    this.workers.clear();
  }
}
