import {
  ActorHeartbeat,
  Catalog,
  LoadReport,
  type ModelName,
  ServingError,
  type WorkerId,
} from "@baton/protocol";
import {
  type ActorContext,
  type BusListener,
  type Counter,
  PeerWatch,
  type Timer,
} from "@baton/runtime";
import { CatalogFollower } from "./catalog-follower.ts";
import { ClusterPicture } from "./cluster-picture.ts";
import type { ClusterView, ModelView, WorkerView } from "./cluster-view.ts";

/** What a view follows. */
export interface ClusterViewOptions {
  readonly follow: {
    /** Load reports of every model in the catalog. Without them `WorkerView.load` stays null. */
    readonly loads: boolean;
  };
  /** Called for each life sign of a worker, listed or not. */
  readonly onWorkerBeat?: (heartbeat: ActorHeartbeat) => void;
}

/** Silent intervals after which a listed worker that was never heard counts as lost, as for one that was heard. */
const leaseIntervals = 4.4;
const askTimeoutMs = 1_000;
const firstRetryMs = 100;
const maxRetryMs = 1_000;
const noBytes = new Uint8Array();

/**
 * Makes a view that follows Discovery's catalog and the workers' own life signs on an actor's bus. It is empty until
 * `start`, and `synced` from the first complete catalog on, also while Discovery is gone.
 */
export function createClusterView(context: ActorContext, options: ClusterViewOptions): ClusterView {
  return new FollowedClusterView(context, options);
}

class FollowedClusterView implements ClusterView {
  readonly #context: ActorContext;
  readonly #options: ClusterViewOptions;
  readonly #leaseMs: number;
  readonly #follower: CatalogFollower;
  readonly #picture: ClusterPicture;
  readonly #workers: PeerWatch;
  readonly #changeListeners = new Set<() => void>();
  readonly #lossListeners = new Set<(worker: WorkerView, why: string) => void>();
  readonly #loadListeners = new Set<(report: LoadReport) => void>();
  readonly #subscriptions: BusListener[] = [];
  readonly #loads = new Map<ModelName, BusListener>();
  readonly #catalogs: Counter;
  readonly #droppedReports: Counter;
  #isStopped = false;
  #isAsking = false;
  #retryMs = firstRetryMs;
  #retry: Timer | null = null;
  #sweep: Timer | null = null;

  constructor(context: ActorContext, options: ClusterViewOptions) {
    const { heartbeatMs, metrics } = context;
    this.#context = context;
    this.#options = options;
    this.#leaseMs = heartbeatMs * leaseIntervals;
    this.#follower = new CatalogFollower(heartbeatMs);
    this.#picture = new ClusterPicture(this.#leaseMs, {
      onChange: () => this.#tellChange(),
      onWorkerLost: (worker, why) => this.#tellLoss(worker, why),
    });
    this.#workers = new PeerWatch(
      context,
      { roles: ["worker"] },
      {
        onAlive: ({ heartbeat }) => this.#picture.hear(heartbeat),
        onBeat: ({ heartbeat }) => options.onWorkerBeat?.(heartbeat),
        onLost: ({ heartbeat }, why) => this.#picture.lose(heartbeat.id, heartbeat.generation, why),
      },
    );
    this.#catalogs = metrics.counter(
      "baton_cluster_view_catalogs_total",
      "Catalogs that came from Discovery: taken, or kept out because a better one is held.",
      ["outcome"],
    );
    this.#droppedReports = metrics.counter(
      "baton_cluster_view_load_reports_dropped_total",
      "Load reports of unknown, lost or other generations of workers, and late ones.",
    );
  }

  get synced(): boolean {
    return this.#follower.synced;
  }

  models(): readonly ModelView[] {
    return this.#picture.models();
  }

  model(name: string): ModelView | undefined {
    return this.#picture.model(name);
  }

  worker(id: WorkerId): WorkerView | undefined {
    return this.#picture.worker(id);
  }

  onChange(listener: () => void): () => void {
    return added(this.#changeListeners, listener);
  }

  onWorkerLost(listener: (worker: WorkerView, why: string) => void): () => void {
    return added(this.#lossListeners, listener);
  }

  onLoad(listener: (report: LoadReport) => void): () => void {
    return added(this.#loadListeners, listener);
  }

  start(): Promise<void> {
    const { bus, subjects } = this.#context;
    this.#subscriptions.push(
      bus.subscribe(subjects.catalogPublished(), ({ payload }) => this.#take(payload)),
      bus.subscribe(subjects.heartbeats("discovery"), ({ payload }) => this.#hear(payload)),
      bus.onState((state) => {
        if (state === "connected") this.#reconnected();
      }),
    );
    this.#workers.start();
    this.#ask();
    return Promise.resolve();
  }

  stop(): void {
    this.#isStopped = true;
    this.#workers.stop();
    this.#retry?.cancel();
    this.#sweep?.cancel();
    for (const subscription of [...this.#subscriptions, ...this.#loads.values()]) {
      subscription.unsubscribe();
    }
    this.#loads.clear();
  }

  #hear(payload: Uint8Array): void {
    const heartbeat = ActorHeartbeat.decode(payload);
    if (this.#follower.hear(heartbeat, this.#context.clock.nowMs())) this.#ask();
  }

  #take(payload: Uint8Array): void {
    const catalog = Catalog.decode(payload);
    const nowMs = this.#context.clock.nowMs();
    const isTaken = this.#follower.offer(catalog, nowMs);
    this.#catalogs.add(1, { outcome: isTaken ? "taken" : "kept" });
    if (!isTaken) return;
    this.#picture.takeCatalog(catalog, nowMs);
    if (this.#options.follow.loads) this.#followLoads();
    this.#armSweep();
  }

  /** Asks Discovery for its catalog, once at a time; until there is a complete one, for ever. */
  #ask(): void {
    if (this.#isAsking || this.#isStopped) return;
    this.#isAsking = true;
    this.#retry?.cancel();
    this.#retry = null;
    const { bus, subjects, log } = this.#context;
    bus
      .request(subjects.getCatalog(), noBytes, { timeoutMs: askTimeoutMs })
      .then((payload) => {
        this.#isAsking = false;
        this.#retryMs = firstRetryMs;
        if (!this.#isStopped) this.#take(payload);
      })
      .catch((error: unknown) => {
        this.#isAsking = false;
        log.debug({ code: ServingError.from(error).code }, "no catalog from discovery");
        this.#askLater();
      });
  }

  #askLater(): void {
    if (this.#isStopped || this.synced) return;
    this.#retry = this.#context.clock.setTimer(this.#retryMs, () => this.#ask());
    this.#retryMs = Math.min(maxRetryMs, this.#retryMs * 2);
  }

  #followLoads(): void {
    const { bus, subjects } = this.#context;
    for (const [model, subscription] of this.#loads) {
      if (this.#picture.model(model) !== undefined) continue;
      subscription.unsubscribe();
      this.#loads.delete(model);
    }
    for (const { model } of this.#picture.models()) {
      if (this.#loads.has(model)) continue;
      const subject = subjects.loadsReported(model);
      this.#loads.set(
        model,
        bus.subscribe(subject, ({ payload }) => this.#report(payload)),
      );
    }
  }

  /** Hot path: every worker, every heartbeat, and whenever its load changes. */
  #report(payload: Uint8Array): void {
    const report = LoadReport.decode(payload);
    if (!this.#picture.report(report)) {
      this.#droppedReports.add();
      return;
    }
    for (const listener of this.#loadListeners) listener(report);
  }

  #armSweep(): void {
    if (this.#sweep !== null || this.#isStopped) return;
    const { bus, clock, heartbeatMs } = this.#context;
    const dueMs = clock.nowMs() + heartbeatMs;
    this.#sweep = clock.setTimer(heartbeatMs, () => {
      this.#sweep = null;
      const nowMs = clock.nowMs();
      // Whoever stood still has life signs waiting that it has not read yet.
      if (nowMs - dueMs > heartbeatMs) this.#picture.pardon(nowMs + this.#leaseMs);
      if (bus.state !== "connected" || this.#picture.sweep(nowMs)) this.#armSweep();
    });
  }

  #reconnected(): void {
    const untilMs = this.#context.clock.nowMs() + this.#leaseMs;
    this.#follower.pardon(untilMs);
    this.#picture.pardon(untilMs);
    this.#ask();
  }

  #tellChange(): void {
    for (const listener of this.#changeListeners) listener();
  }

  #tellLoss(worker: WorkerView, why: string): void {
    const { id: workerId, generation } = worker;
    this.#context.log.info({ workerId, generation, why }, "worker lost");
    for (const listener of this.#lossListeners) listener(worker, why);
  }
}

function added<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
