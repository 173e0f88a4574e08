import { ElderWatch } from "@baton/cluster-view";
import type { Catalog } from "@baton/protocol";
import {
  type ActorContext,
  type ActorDefinition,
  type ActorInstance,
  type BusListener,
  type HeartbeatFacts,
  type Peer,
  PeerWatch,
  type Timer,
  xstateClock,
} from "@baton/runtime";
import { type Actor, createActor } from "xstate";
import { CatalogPublisher } from "./catalog-publisher.ts";
import { type DiscoveryConfig, discoveryOptions } from "./config.ts";
import { deregister, getCatalog, register, workerHeard, workerLost } from "./handlers.ts";
import { rebuildMachine } from "./machine.ts";
import { discoveryMetrics } from "./metrics.ts";
import { Registry } from "./registry/registry.ts";
import type { DiscoveryState } from "./state.ts";

/** Discovery: who serves what in one namespace, by registration and heartbeat. */
export const discovery: ActorDefinition<DiscoveryConfig> = {
  role: "discovery",
  options: discoveryOptions,
  create: (context, config) => new DiscoveryActor(context, config),
};

/** A worker's lease in heartbeat intervals: the silence after which `PeerWatch` gives it up. */
const leaseIntervals = 4.4;
/** How many leases more a rebuild waits for workers that are heard but have not registered. */
const patienceLeases = 2;

class DiscoveryActor implements ActorInstance {
  readonly #context: ActorContext;
  readonly #leaseMs: number;
  readonly #state: DiscoveryState;
  readonly #machine: Actor<typeof rebuildMachine>;
  readonly #peers: PeerWatch;
  readonly #subscriptions: BusListener[] = [];
  #sweep: Timer | null = null;
  #sweptAtMs = 0;
  #spoke = true;
  #isComplete = false;

  constructor(context: ActorContext, config: DiscoveryConfig) {
    const { namespace, heartbeatMs, clock, metrics } = context;
    this.#context = context;
    this.#leaseMs = heartbeatMs * leaseIntervals;
    const registry = new Registry({ ...config, namespace, leaseMs: this.#leaseMs });
    const figures = discoveryMetrics(metrics, registry);
    const elders = new ElderWatch(context);
    const publisher = new CatalogPublisher({
      context,
      namespace,
      registry,
      speaks: () => elders.speaks,
      onPublished: () => figures.catalogs.add(),
    });
    const workers = new PeerWatch(
      context,
      { roles: ["worker"] },
      {
        onAlive: (peer) => workerHeard(this.#state, peer),
        onLost: (peer, why) => workerLost(this.#state, peer, why),
      },
    );
    const changed = () => this.#changed();
    this.#state = { context, registry, publisher, metrics: figures, workers, elders, changed };
    this.#peers = new PeerWatch(
      context,
      { roles: ["discovery"] },
      {
        onAlive: ({ heartbeat }: Peer) => {
          elders.alive(heartbeat);
          this.#eldersChanged();
        },
        onLost: ({ heartbeat }: Peer) => {
          elders.lost(heartbeat);
          this.#eldersChanged();
        },
      },
    );
    this.#machine = createActor(rebuildMachine, {
      clock: xstateClock(clock),
      input: {
        leaseMs: this.#leaseMs,
        patienceMs: this.#leaseMs * patienceLeases,
        isEverybodyBack: () => this.#isEverybodyBack(),
      },
    });
  }

  start(): Promise<void> {
    const { bus, subjects, clock, heartbeatMs } = this.#context;
    const state = this.#state;
    this.#subscriptions.push(
      bus.subscribe(subjects.register(), (message) => register(state, message)),
      bus.subscribe(subjects.deregister(), (message) => deregister(state, message)),
      bus.subscribe(subjects.getCatalog(), (message) => getCatalog(state, message)),
      bus.onState((next) => this.#busChanged(next)),
    );
    state.workers.start();
    this.#peers.start();
    this.#machine.subscribe(({ value }) => {
      if (value === "complete" && !this.#isComplete) this.#complete();
    });
    this.#machine.start();
    this.#context.setSynced(false, "workers are still coming back");
    this.#sweptAtMs = clock.nowMs();
    this.#sweep = clock.setRepeating(heartbeatMs, () => this.#sweepOnce());
    return Promise.resolve();
  }

  heartbeat(): HeartbeatFacts {
    const { elders, publisher } = this.#state;
    const catalog: Pick<Catalog, "epoch" | "revision" | "complete"> = publisher.mark;
    return elders.speaks ? { catalog } : {};
  }

  /** Nothing is under way here for longer than a call. */
  drain(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#sweep?.cancel();
    this.#machine.stop();
    this.#state.workers.stop();
    this.#peers.stop();
    this.#state.publisher.stop();
    this.#state.metrics.syncCounts();
    for (const subscription of this.#subscriptions.splice(0)) subscription.unsubscribe();
    return Promise.resolve();
  }

  #changed(): void {
    this.#state.metrics.syncCounts();
    this.#state.publisher.touch();
    if (this.#machine.getSnapshot().value === "settling") {
      this.#machine.send({ type: "workers.changed" });
    }
  }

  #complete(): void {
    this.#isComplete = true;
    this.#state.publisher.complete();
    this.#context.setSynced(true);
    this.#context.log.info({ workers: this.#state.registry.size }, "catalog complete");
  }

  /** Workers that still start or leave have no reason to register. */
  #isEverybodyBack(): boolean {
    const { registry, workers } = this.#state;
    return workers
      .peers()
      .every(
        ({ heartbeat: { id, generation, state } }) =>
          (state !== "ready" && state !== "degraded") || registry.has(id, generation),
      );
  }

  #eldersChanged(): void {
    const { elders, publisher } = this.#state;
    if (elders.speaks === this.#spoke) return;
    this.#spoke = elders.speaks;
    if (elders.speaks) {
      this.#context.log.info("speaks for its namespace");
      publisher.republish();
    } else {
      this.#context.log.warn({ elders: elders.elders }, "another discovery speaks");
    }
  }

  #busChanged(next: ActorContext["bus"]["state"]): void {
    if (next === "disconnected") this.#machine.send({ type: "bus.lost" });
    if (next !== "connected") return;
    this.#state.registry.pardon(this.#context.clock.nowMs() + this.#leaseMs);
    this.#machine.send({ type: "bus.restored" });
    this.#state.publisher.republish();
  }

  #sweepOnce(): void {
    const { bus, clock, heartbeatMs } = this.#context;
    const { registry } = this.#state;
    const nowMs = clock.nowMs();
    // Whoever stood still has life signs waiting that it has not read yet.
    if (nowMs - this.#sweptAtMs > 2 * heartbeatMs) registry.pardon(nowMs + this.#leaseMs);
    this.#sweptAtMs = nowMs;
    if (bus.state === "connected") registry.sweep(nowMs);
    this.#changed();
  }
}
