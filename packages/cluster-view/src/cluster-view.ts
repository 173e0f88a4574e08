import type {
  CatalogModel,
  LoadReport,
  ModelName,
  WorkerId,
  WorkerRegistration,
  WorkerType,
} from "@baton/protocol";

/** One worker as its follower knows it. */
export interface WorkerView {
  readonly id: WorkerId;
  readonly generation: number;
  readonly registration: WorkerRegistration;
  readonly workerType: WorkerType;
  /** `live` takes work. `draining` and `lost` do not. */
  readonly state: "live" | "draining" | "lost";
  /** The last report of this generation; null before the first. */
  readonly load: LoadReport | null;
}

/** One model as its follower knows it. */
export interface ModelView {
  readonly model: ModelName;
  /** What Discovery says, corrected by what was heard since (a worker known to be lost does not count). */
  readonly catalog: CatalogModel;
  readonly workers: readonly WorkerView[];
}

/**
 * The live picture of a namespace, followed from the bus: the catalog, and what workers say of themselves since.
 * Keeps the last complete catalog while Discovery is gone.
 */
export interface ClusterView {
  /** True from the first complete catalog on. */
  readonly synced: boolean;
  models(): readonly ModelView[];
  model(name: string): ModelView | undefined;
  worker(id: WorkerId): WorkerView | undefined;
  /** Called after every change of catalog, life or drain of a worker; not for load reports. */
  onChange(listener: () => void): () => void;
  /** Called once per lost generation of a worker. */
  onWorkerLost(listener: (worker: WorkerView, why: string) => void): () => void;
  /** Called for each load report taken. */
  onLoad(listener: (report: LoadReport) => void): () => void;
  start(): Promise<void>;
  stop(): void;
}
