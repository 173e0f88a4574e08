import { type ClusterView, createClusterView } from "@baton/cluster-view";
import { type BuiltRouterMode, createSelector } from "@baton/kv-router";
import {
  type ActorRole,
  type MessageType,
  type ModelName,
  modelName,
  type RequestId,
  ServingError,
} from "@baton/protocol";
import { type ActorContext, type Counter, PeerWatch, type Timer } from "@baton/runtime";
import { DeskHost } from "./desk-host.ts";
import type { DeskLimits, DeskPolicy, DeskRequest } from "./model-desk.ts";

/** Options that both roles share; see `routerOptions`. */
export interface RouterSettings extends DeskLimits {
  readonly routerMode: BuiltRouterMode;
}

/** What a role adds to the shared router. */
export interface RouterRoleParts<Request extends DeskRequest> {
  readonly message: MessageType<Request>;
  /** The label `role` of the gauges: the type of the workers it chooses. */
  readonly workerRole: "prefill" | "decode";
  policy(model: ModelName, view: ClusterView): DeskPolicy<Request>;
}

const sweepIntervalMs = 50;

/** What both routers are: a view of the cluster, one desk per model, and the deaths that concern them. */
export class Router<Request extends DeskRequest> {
  readonly view: ClusterView;
  readonly #ctx: ActorContext;
  readonly #settings: RouterSettings;
  readonly #parts: RouterRoleParts<Request>;
  readonly #hosts = new Map<ModelName, DeskHost<Request>>();
  readonly #malformed: Counter;
  #frontends: PeerWatch | null = null;
  #sweep: Timer | null = null;
  readonly #detach: (() => void)[] = [];

  constructor(ctx: ActorContext, settings: RouterSettings, parts: RouterRoleParts<Request>) {
    this.#ctx = ctx;
    this.#settings = settings;
    this.#parts = parts;
    this.view = createClusterView(ctx, { follow: { loads: true } });
    this.#malformed = ctx.metrics.counter(
      "baton_router_malformed_messages_total",
      "Messages that could not be decoded.",
    );
    this.#registerGauges();
  }

  /** The model's desk, made and listening when first asked for. */
  host(model: ModelName): DeskHost<Request> {
    const known = this.#hosts.get(model);
    if (known !== undefined) return known;
    const { routerMode, ...limits } = this.#settings;
    const host = new DeskHost<Request>(
      { model, limits },
      {
        ctx: this.#ctx,
        view: this.view,
        policy: this.#parts.policy(model, this.view),
        selector: createSelector(routerMode),
        message: this.#parts.message,
        onMalformed: (subject, error) => {
          this.#malformed.add();
          this.#ctx.log.error({ subject, err: error }, "malformed message");
        },
      },
    );
    this.#hosts.set(model, host);
    return host;
  }

  /** Closes the desk of a model that is gone. */
  forget(model: ModelName): void {
    this.#hosts.get(model)?.close();
    this.#hosts.delete(model);
  }

  /** Models with a desk. */
  models(): readonly ModelName[] {
    return [...this.#hosts.keys()];
  }

  async start(): Promise<void> {
    const { bus, clock } = this.#ctx;
    const undeliverable = bus.onUndeliverable((key) => {
      for (const host of this.#hosts.values()) host.desk.undeliverable(key as RequestId);
    });
    this.#detach.push(
      () => undeliverable.unsubscribe(),
      this.view.onWorkerLost((worker) => {
        for (const host of this.#hosts.values()) host.desk.workerLost(worker.id);
      }),
      this.view.onLoad((report) => this.#reported(report)),
      this.view.onChange(() => this.#changed()),
    );
    this.#frontends = new PeerWatch(
      this.#ctx,
      { roles: ["frontend"] satisfies ActorRole[] },
      {
        onLost: ({ heartbeat }) => {
          for (const host of this.#hosts.values()) {
            host.desk.frontendLost(heartbeat.id as ActorContext["id"]);
          }
        },
      },
    );
    this.#sweep = clock.setRepeating(sweepIntervalMs, () => {
      for (const host of this.#hosts.values()) host.desk.sweep();
    });
    await this.view.start();
    this.#changed();
  }

  /** Leaves all queue groups and refuses what waits: nothing was dispatched, so the client may try again. */
  drain(): void {
    for (const host of this.#hosts.values()) host.hold(new ServingError("draining"));
  }

  stop(): void {
    this.#sweep?.cancel();
    this.#frontends?.stop();
    for (const detach of this.#detach.splice(0)) detach();
    for (const host of this.#hosts.values()) host.close();
    this.#hosts.clear();
    this.view.stop();
  }

  #reported(report: Parameters<Parameters<ClusterView["onLoad"]>[0]>[0]): void {
    const worker = this.view.worker(report.workerId);
    if (worker === undefined) return;
    this.#hosts.get(modelName(worker.registration.card.model))?.reported(report);
  }

  #changed(): void {
    this.#ctx.setSynced(this.view.synced, "no complete catalog yet");
    for (const host of this.#hosts.values()) host.desk.pump();
  }

  #registerGauges(): void {
    const labels = { role: this.#parts.workerRole };
    const sum = (read: (host: DeskHost<Request>) => number): number =>
      [...this.#hosts.values()].reduce((total, host) => total + read(host), 0);
    const { metrics } = this.#ctx;
    metrics.gauge(
      "baton_router_bookings",
      "Requests booked on workers.",
      () => [[labels, sum(({ desk }) => desk.bookings.size)]],
      ["role"],
    );
    metrics.gauge(
      "baton_router_queued",
      "Requests that wait for a worker.",
      () => [[labels, sum(({ desk }) => desk.queued)]],
      ["role"],
    );
    metrics.gauge(
      "baton_router_dispatched",
      "Requests dispatched since start.",
      () => [[labels, sum(({ desk }) => desk.counters.dispatched)]],
      ["role"],
    );
  }
}
