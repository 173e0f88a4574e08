import type { ClusterView, ModelView, WorkerView } from "@baton/cluster-view";
import { type LoadReport, modelName, type WorkerId, workerId } from "@baton/protocol";
import { testGeneration, testModel, workerRegistration } from "@baton/testing";

type Changes = Parameters<typeof workerRegistration>[0];

/** A worker as a view shows it: live, without a report, unless changed. */
export function workerView(id: string, changes: Changes & Partial<WorkerView> = {}): WorkerView {
  const { state = "live", load = null, ...registered } = changes;
  const registration = workerRegistration({ ...registered, id });
  return {
    id: workerId(id),
    generation: registration.generation,
    registration,
    workerType: registration.workerType,
    state,
    load,
  };
}

/** A report of an idle worker. */
export function loadReport(id: string, changes: Partial<LoadReport> = {}): LoadReport {
  return {
    workerId: workerId(id),
    generation: testGeneration,
    sequence: 1,
    accepting: true,
    runningSequences: 0,
    waitingSequences: 0,
    activeBlocks: 0,
    cachedBlocks: 0,
    totalBlocks: 100,
    waitingPrefillTokens: 0,
    handoffsHeld: 0,
    endedBookings: [],
    liveBookings: null,
    ...changes,
  };
}

/** A view of one model whose workers the test sets by hand. */
export class FakeView implements ClusterView {
  readonly synced = true;
  readonly #workers = new Map<WorkerId, WorkerView>();
  readonly #changes = new Set<() => void>();

  constructor(workers: readonly WorkerView[] = []) {
    for (const worker of workers) this.#workers.set(worker.id, worker);
  }

  /** Adds or replaces workers, without telling anybody. */
  set(...workers: readonly WorkerView[]): void {
    for (const worker of workers) this.#workers.set(worker.id, worker);
  }

  /** Shows a worker as lost, and answers how it was. */
  lose(id: string): WorkerView {
    const worker = this.#workers.get(workerId(id));
    if (worker === undefined) throw new Error(`no worker ${id}`);
    this.set({ ...worker, state: "lost" });
    return worker;
  }

  models(): readonly ModelView[] {
    const workers = [...this.#workers.values()];
    const catalog = { model: testModel, ready: true, why: null, sets: [] };
    return [{ model: modelName(testModel), catalog, workers }];
  }

  model(name: string): ModelView | undefined {
    return this.models().find(({ model }) => model === name);
  }

  worker(id: WorkerId): WorkerView | undefined {
    return this.#workers.get(id);
  }

  onChange(listener: () => void): () => void {
    this.#changes.add(listener);
    return () => void this.#changes.delete(listener);
  }

  onWorkerLost(): () => void {
    return () => undefined;
  }

  onLoad(): () => void {
    return () => undefined;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): void {
    this.#changes.clear();
  }
}
