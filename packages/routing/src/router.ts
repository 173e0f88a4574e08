import {
  type ClusterView,
  createClusterView,
  createKvFeedFollower,
  KvFeedFigures,
} from "@baton/cluster-view";
import {
  type ActorId,
  type ActorState,
  type LoadReport,
  type MessageType,
  type ModelName,
  modelName,
  type RequestId,
  ServingError,
  type WorkerType,
} from "@baton/protocol";
import { type ActorContext, PeerWatch, type Timer } from "@baton/runtime";
import { DeskHost } from "./desk-host.ts";
import type { DeskPolicy, DeskRequest } from "./desk-policy.ts";
import { type LoadedPolicy, loadPolicy, type PolicySources } from "./policy/load-policy.ts";
import { diskSources } from "./policy/policy-files.ts";
import { type PolicyWatch, watchPolicyFile } from "./policy/watch-policy-file.ts";
import type { FeedTarget, IndexFeed } from "./pool.ts";
import { type RouterMetrics, routerMetrics, type WorkerRoleLabel } from "./router-metrics.ts";
import type { RouterSettings } from "./router-options.ts";

/** What a role adds to the shared router. */
export interface RouterRoleParts<Request extends DeskRequest> {
  readonly message: MessageType<Request>;
  /** The label `role` of the figures. */
  readonly workerRole: WorkerRoleLabel;
  /** The types of workers that the role chooses. */
  readonly workerTypes: ReadonlySet<WorkerType>;
  /** Makes the policy of one model's desk. */
  policy(): DeskPolicy<Request>;
  /** Where policy files are read and modules come from. Default: the machine's own. */
  readonly sources?: PolicySources;
  /** Decides, after each change of the cluster, which models are served: by `open`, `shut` and `retire`. */
  onChange(): void;
}

/** A model that has a desk. */
interface OpenModel<Request extends DeskRequest> {
  readonly host: DeskHost<Request>;
  /** It is to be served, and is while the actor takes work. */
  isOpen: boolean;
  /** The role wants it served. */
  isWanted: boolean;
  /** It has been served. */
  wasOpen: boolean;
  /** The catalog names it no more: it goes when nothing is held. */
  isRetired: boolean;
}

/** Deadlines and refusals are looked at this often. */
const sweepIntervalMs = 50;

/** What both routers are: a view of the cluster, one desk per model, and the deaths that concern them. */
export class Router<Request extends DeskRequest> {
  readonly view: ClusterView;
  readonly #ctx: ActorContext;
  readonly #settings: RouterSettings;
  readonly #parts: RouterRoleParts<Request>;
  readonly #models = new Map<ModelName, OpenModel<Request>>();
  readonly #metrics: RouterMetrics;
  readonly #sources: PolicySources;
  readonly #figures: KvFeedFigures;
  readonly #detach: (() => void)[] = [];
  #state: ActorState = "starting";
  /** Null before `start`. */
  #policy: LoadedPolicy | null = null;
  #policyWatch: PolicyWatch | null = null;
  #frontends: PeerWatch | null = null;
  #sweep: Timer | null = null;

  constructor(
    ctx: ActorContext,
    settings: RouterSettings,
    parts: RouterRoleParts<Request>,
    view: ClusterView = createClusterView(ctx, { follow: { loads: true } }),
  ) {
    this.#ctx = ctx;
    this.#settings = settings;
    this.#parts = parts;
    this.#sources = parts.sources ?? diskSources;
    this.#figures = new KvFeedFigures(ctx.metrics);
    this.view = view;
    this.#metrics = routerMetrics(ctx.metrics, parts.workerRole, {
      bookings: () => this.#sum((host) => host.desk.booked),
      queued: () => this.#sum((host) => host.desk.queued),
      sessions: () => this.#sum((host) => host.desk.sessions),
    });
  }

  /** Models with a desk that the catalog still names. */
  get models(): readonly ModelName[] {
    return [...this.#models].flatMap(([model, { isRetired }]) => (isRetired ? [] : [model]));
  }

  /** Makes the model's desk, if there is none: from here on it hears bookings and cancels. */
  listen(model: ModelName): void {
    this.#modelOf(model);
  }

  /** Serves a model while the actor takes work; at first not before it has as many workers as the policy wants. */
  open(model: ModelName): void {
    const entry = this.#modelOf(model);
    entry.isWanted = true;
    this.#openIfDue(model, entry);
  }

  /** Serves a model no more. What waits is refused with `error`. */
  shut(model: ModelName, error: ServingError): void {
    const entry = this.#models.get(model);
    if (entry === undefined) return;
    entry.isWanted = false;
    if (!entry.isOpen) return;
    entry.isOpen = false;
    entry.host.hold(error);
  }

  /** Lets go of a model that the catalog names no more, as soon as nothing of it is booked. */
  retire(model: ModelName): void {
    const entry = this.#models.get(model);
    if (entry === undefined) return;
    this.shut(model, new ServingError("not_ready", { problem: "the model is gone" }));
    entry.isRetired = true;
    this.#dropRetired();
  }

  /** Reads the policy, and begins to follow workers and Frontends. Rejects with `config_invalid`. */
  async start(): Promise<void> {
    const { bus, clock } = this.#ctx;
    await this.#readPolicy();
    if (this.#state === "stopped") return;
    const subscriptions = [
      bus.onUndeliverable((key) => {
        for (const { host } of this.#models.values()) host.desk.undeliverable(key as RequestId);
      }),
      bus.onState((state) => {
        if (state === "connected") this.#busIsBack();
      }),
    ];
    this.#detach.push(
      () => {
        for (const subscription of subscriptions) subscription.unsubscribe();
      },
      this.view.onWorkerLost((worker) => {
        for (const { host } of this.#models.values()) host.desk.workerLost(worker);
      }),
      this.view.onLoad((report) => this.#reported(report)),
      this.view.onChange(() => this.#changed()),
    );
    this.#frontends = new PeerWatch(
      this.#ctx,
      { roles: ["frontend"] },
      {
        onLost: ({ heartbeat }) => {
          for (const { host } of this.#models.values()) {
            host.desk.frontendLost(heartbeat.id as ActorId, heartbeat.generation);
          }
        },
      },
    );
    this.#frontends.start();
    this.#sweep = clock.setRepeating(sweepIntervalMs, () => this.#sweepNow());
    await this.view.start();
    this.#changed();
  }

  /** Takes work while the actor is ready, and goes on for as long as only the bus is gone. */
  onState(state: ActorState): void {
    this.#state = state;
    const why = state === "draining" ? "draining" : "not_ready";
    for (const { host, isOpen } of this.#models.values()) {
      if (!this.#takesWork) host.hold(new ServingError(why));
      else if (isOpen) host.serve();
    }
  }

  /** Leaves all queue groups, refuses what waits, and lets the bus say so. Nothing was dispatched: clients may retry. */
  async drain(): Promise<void> {
    this.onState("draining");
    await Promise.all([...this.#models.values()].map(({ host }) => host.left()));
    if (this.#ctx.bus.state === "connected") await this.#ctx.bus.flush();
  }

  /** Lets go of everything. */
  stop(): void {
    this.#state = "stopped";
    this.#sweep?.cancel();
    this.#policyWatch?.stop();
    this.#frontends?.stop();
    for (const detach of this.#detach.splice(0)) detach();
    for (const { host } of this.#models.values()) host.close();
    this.#models.clear();
    this.view.stop();
  }

  get #takesWork(): boolean {
    return this.#state === "ready" || this.#state === "degraded";
  }

  #modelOf(model: ModelName): OpenModel<Request> {
    const known = this.#models.get(model);
    if (known !== undefined) {
      known.isRetired = false;
      return known;
    }
    const host = new DeskHost<Request>(
      { model, limits: this.#settings },
      {
        ctx: this.#ctx,
        view: this.view,
        policy: this.#parts.policy(),
        loaded: this.#loaded,
        metrics: this.#metrics,
        openFeed: (of, target) => this.#openFeed(of, target),
        message: this.#parts.message,
      },
    );
    const entry = { host, isOpen: false, isWanted: false, wasOpen: false, isRetired: false };
    this.#models.set(model, entry);
    return entry;
  }

  #openIfDue(model: ModelName, entry: OpenModel<Request>): void {
    const isDue = entry.wasOpen || this.#workersOf(model) >= this.#loaded.policy.minInitialWorkers;
    if (!entry.isWanted || entry.isOpen || !isDue) return;
    entry.wasOpen = true;
    entry.isOpen = true;
    if (this.#takesWork) entry.host.serve();
  }

  #openFeed(model: ModelName, target: FeedTarget): IndexFeed {
    const feed = createKvFeedFollower(this.#ctx, { ...target, model, figures: this.#figures });
    feed.start();
    return feed;
  }

  get #loaded(): LoadedPolicy {
    if (this.#policy !== null) return this.#policy;
    throw new ServingError("internal", { problem: "a model before the policy is read" });
  }

  async #readPolicy(): Promise<void> {
    const { clock, log } = this.#ctx;
    const { policyFile } = this.#settings;
    const current = await loadPolicy(this.#settings, this.#sources);
    this.#policy = current;
    if (policyFile === undefined || this.#state === "stopped") return;
    this.#policyWatch = watchPolicyFile({
      ...this.#sources,
      clock,
      flags: { ...this.#settings, policyFile },
      current,
      onPolicy: (loaded) => {
        this.#policy = loaded;
        for (const [model, entry] of this.#models) {
          entry.host.desk.setPolicy(loaded);
          this.#openIfDue(model, entry);
        }
        this.#metrics.policyReloads("taken");
        log.info({ policyFile }, "policy file taken over");
      },
      onError: (error) => {
        this.#metrics.policyReloads("refused");
        const problems = error.details.options; // where they are told, a stack says no more
        log.error(
          problems === undefined ? { policyFile, err: error } : { policyFile, problems },
          "policy file refused",
        );
      },
    });
  }

  /** Workers of the model that the role chooses among and that take work. */
  #workersOf(model: ModelName): number {
    const { workerTypes } = this.#parts;
    const workers = this.view.model(model)?.workers ?? [];
    return workers.filter(
      ({ state, workerType }) => state === "live" && workerTypes.has(workerType),
    ).length;
  }

  #reported(report: LoadReport): void {
    const worker = this.view.worker(report.workerId);
    if (worker === undefined) return;
    this.#models.get(modelName(worker.registration.card.model))?.host.reported(worker, report);
  }

  #changed(): void {
    this.#parts.onChange();
    for (const [model, entry] of this.#models) this.#openIfDue(model, entry);
    this.#ctx.setSynced(this.view.synced, "no complete catalog yet");
    for (const { host } of this.#models.values()) host.desk.workersChanged();
  }

  /**
   * While the bus was gone Frontends may have given up what waits here, and their cancels were not heard: sent now, it
   * might run for nobody. It was not dispatched, so its clients may try again.
   */
  #busIsBack(): void {
    for (const { host } of this.#models.values()) host.desk.busIsBack();
  }

  #sweepNow(): void {
    for (const { host } of this.#models.values()) host.desk.sweep();
    this.#dropRetired();
  }

  #dropRetired(): void {
    for (const [model, { host, isRetired }] of this.#models) {
      if (!isRetired || !host.isIdle) continue;
      host.close();
      this.#models.delete(model);
    }
  }

  #sum(read: (host: DeskHost<Request>) => number): number {
    let total = 0;
    for (const { host } of this.#models.values()) total += read(host);
    return total;
  }
}
