import type { ClusterView, ModelView, WorkerView } from "@baton/cluster-view";
import { type LoadReport, modelName, type WorkerId, workerId } from "@baton/protocol";
import { type RegistrationChanges, workerRegistration } from "@baton/testing";

/** A worker as a view shows it: live, without a report, unless changed. */
export function workerView(
  id: string,
  changes: RegistrationChanges & Partial<WorkerView> = {},
): WorkerView {
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

/** A view whose workers the test sets by hand. All models of the workers are in it. */
export class FakeView implements ClusterView {
  synced = true;
  readonly #workers = new Map<WorkerId, WorkerView>();
  readonly #changes = new Set<() => void>();
  readonly #losses = new Set<(worker: WorkerView, why: string) => void>();
  readonly #loads = new Set<(report: LoadReport) => void>();

  constructor(workers: readonly WorkerView[] = []) {
    this.set(...workers);
  }

  /** Adds or replaces workers, without telling anybody. */
  set(...workers: readonly WorkerView[]): void {
    for (const worker of workers) this.#workers.set(worker.id, worker);
  }

  /** Takes a worker off, without telling anybody. */
  remove(id: string): void {
    this.#workers.delete(workerId(id));
  }

  /** Shows a worker as lost, without telling anybody, and answers how it was. */
  lose(id: string): WorkerView {
    const worker = this.#workers.get(workerId(id));
    if (worker === undefined) throw new Error(`no worker ${id}`);
    this.set({ ...worker, state: "lost" });
    return worker;
  }

  tellChange(): void {
    for (const listener of this.#changes) listener();
  }

  tellLoss(worker: WorkerView): void {
    for (const listener of this.#losses) listener(worker, "silent");
    this.tellChange();
  }

  tellLoad(report: LoadReport): void {
    for (const listener of this.#loads) listener(report);
  }

  models(): readonly ModelView[] {
    const workers = [...this.#workers.values()];
    const names = new Set(workers.map(({ registration }) => registration.card.model));
    return [...names].map((name) => ({
      model: modelName(name),
      catalog: { model: name, ready: true, why: null, sets: [] },
      workers: workers.filter(({ registration }) => registration.card.model === name),
    }));
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

  onWorkerLost(listener: (worker: WorkerView, why: string) => void): () => void {
    this.#losses.add(listener);
    return () => void this.#losses.delete(listener);
  }

  onLoad(listener: (report: LoadReport) => void): () => void {
    this.#loads.add(listener);
    return () => void this.#loads.delete(listener);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): void {
    for (const listeners of [this.#changes, this.#losses, this.#loads]) listeners.clear();
  }
}
