import { createClusterView, ElderWatch } from "@baton/cluster-view";
import { type KvFeedKind, type ModelName, modelName, type WorkerId } from "@baton/protocol";
import {
  type ActorContext,
  type ActorDefinition,
  type ActorInstance,
  type BusListener,
  type HeartbeatFacts,
  PeerWatch,
  type Timer,
} from "@baton/runtime";
import { type KvEventAggregatorConfig, kvEventAggregatorOptions } from "./config.ts";
import {
  getKvHistory,
  getKvPositions,
  listed,
  relayBatch,
  workerBeat,
  workerLost,
} from "./handlers.ts";
import { HistoryClient } from "./history-client.ts";
import { HistoryDesk } from "./history-desk.ts";
import { aggregatorMetrics } from "./metrics.ts";
import { ModelFeed } from "./model-feed.ts";
import { makeTableCounts, SourceTable } from "./source/source-table.ts";
import type { AggregatorState } from "./state.ts";

/** The KvEventAggregator: one ordered feed of the KV events of a model's workers. */
export const kvEventAggregator: ActorDefinition<KvEventAggregatorConfig> = {
  role: "kv-event-aggregator",
  options: kvEventAggregatorOptions,
  create: (context, config) => new KvEventAggregatorActor(context, config),
};

const maxBackoffMs = 5_000;

class KvEventAggregatorActor implements ActorInstance {
  readonly #context: ActorContext;
  readonly #config: KvEventAggregatorConfig;
  readonly #state: AggregatorState;
  readonly #peers: PeerWatch;
  readonly #feeds = new Map<ModelName, ModelFeed>();
  readonly #sent: Record<KvFeedKind, number> = { batch: 0, reached: 0, gone: 0, back: 0 };
  readonly #subscriptions: BusListener[] = [];
  readonly #detach: (() => void)[] = [];
  #counts: Timer | null = null;
  #spoke = true;

  constructor(context: ActorContext, config: KvEventAggregatorConfig) {
    this.#context = context;
    this.#config = config;
    const elders = new ElderWatch(context);
    const view = createClusterView(context, {
      follow: { loads: false },
      onWorkerBeat: (heartbeat) => workerBeat(this.#state, heartbeat),
    });
    const client = new HistoryClient({
      bus: context.bus,
      subjects: context.subjects,
      timeoutMs: config.recoveryTimeoutMs,
      concurrency: config.recoveryConcurrency,
      maxWaiting: config.maxSources,
    });
    const desk = new HistoryDesk(
      { keepMs: config.dumpKeepMs, maxBytes: config.dumpCacheBytes },
      { clock: context.clock, ask: (ask) => client.ask(ask) },
    );
    const counts = makeTableCounts();
    const table = this.#makeTable(counts, (id) => view.worker(id), desk);
    const metrics = aggregatorMetrics(context.metrics, counts, this.#sent, table, desk);
    const feed = (model: ModelName) => this.#feed(model);
    this.#state = {
      context,
      config,
      view,
      table,
      desk,
      metrics,
      elders,
      feed,
      epoch: context.generation,
      asks: 0,
    };
    this.#peers = new PeerWatch(
      context,
      { roles: ["kv-event-aggregator"] },
      {
        onAlive: ({ heartbeat }) => {
          // One that gathers less than this one cannot stand in for it.
          const { model } = heartbeat;
          elders.alive(heartbeat, model === null || model === config.model);
          this.#eldersChanged();
        },
        onLost: ({ heartbeat }) => {
          elders.lost(heartbeat);
          this.#eldersChanged();
        },
      },
    );
  }

  async start(): Promise<void> {
    const { bus, clock, heartbeatMs, subjects } = this.#context;
    const state = this.#state;
    const model = this.#config.model === undefined ? "*" : modelName(this.#config.model);
    this.#detach.push(
      state.view.onChange(() => this.#viewChanged()),
      state.view.onWorkerLost((worker, why) => workerLost(state, worker, why)),
    );
    this.#subscriptions.push(
      bus.subscribe(subjects.kvChangedAll(model), (message) => relayBatch(state, message)),
      bus.subscribe(subjects.getKvPositions(model), (message) => getKvPositions(state, message)),
      bus.subscribe(subjects.getKvHistory(model), (message) => getKvHistory(state, message)),
      bus.onState((next) => {
        if (next !== "connected") return;
        // The last entries may be lost with the connection: a new epoch makes followers compare.
        this.#beginEpoch();
        state.table.busRestored();
      }),
    );
    this.#counts = clock.setRepeating(heartbeatMs, () => {
      state.desk.sweep();
      state.metrics.syncCounts();
    });
    this.#context.setSynced(false, "no complete catalog yet");
    this.#peers.start();
    await state.view.start();
  }

  heartbeat(): HeartbeatFacts {
    return { model: this.#config.model === undefined ? null : modelName(this.#config.model) };
  }

  /** A feed has no end of its own: whoever follows it sees this epoch stop. */
  drain(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    const { desk, metrics, table, view } = this.#state;
    this.#counts?.cancel();
    this.#peers.stop();
    for (const detach of this.#detach.splice(0)) detach();
    for (const subscription of this.#subscriptions.splice(0)) subscription.unsubscribe();
    view.stop();
    table.clear();
    desk.clear();
    metrics.syncCounts();
    return Promise.resolve();
  }

  #makeTable(
    counts: ReturnType<typeof makeTableCounts>,
    workerOf: (id: WorkerId) => Parameters<typeof listed>[0] | undefined,
    desk: HistoryDesk,
  ): SourceTable {
    const { bufferedBatches, lostHoldMs, maxSources, recoveryAttempts, recoveryBackoffMs } =
      this.#config;
    return new SourceTable(
      {
        attempts: recoveryAttempts,
        firstBackoffMs: recoveryBackoffMs,
        maxBackoffMs: Math.max(maxBackoffMs, recoveryBackoffMs),
        bufferedBatches,
        lostHoldMs,
        maxSources,
      },
      {
        clock: this.#context.clock,
        counts,
        lookUp: (id) => {
          const worker = workerOf(id);
          return worker === undefined ? undefined : listed(worker);
        },
        emit: (model, entry) => this.#feed(model).emit(entry),
        ask: (ask, done) => {
          const atLeast = ask.from ?? 0;
          desk.answer({ ...ask, dump: null, page: 0, atLeast }).then(done, () => done(null)); // the source counts it and asks again
        },
      },
    );
  }

  #feed(model: ModelName): ModelFeed {
    const known = this.#feeds.get(model);
    if (known !== undefined) return known;
    const { bus, log, subjects } = this.#context;
    const subject = subjects.kvFeed(model);
    const feed = new ModelFeed({
      epoch: this.#state.epoch,
      sent: this.#sent,
      publish: (bytes) => {
        try {
          bus.publish(subject, bytes);
          return true;
        } catch (error) {
          log.debug({ err: error, model }, "feed entry not published"); // its source keeps it
          return false;
        }
      },
    });
    this.#feeds.set(model, feed);
    return feed;
  }

  #viewChanged(): void {
    const { elders, table, view } = this.#state;
    this.#context.setSynced(view.synced, "no complete catalog yet");
    if (elders.speaks) table.workersChanged();
  }

  /** Two aggregators of one model would put everything on its feed twice: the one that has run longest speaks. */
  #eldersChanged(): void {
    const { desk, elders, table } = this.#state;
    if (elders.speaks === this.#spoke) return;
    this.#spoke = elders.speaks;
    if (elders.speaks) {
      this.#beginEpoch();
      this.#context.log.info({ epoch: this.#state.epoch }, "speaks for its models");
      table.workersChanged();
    } else {
      this.#context.log.warn({ elders: elders.elders }, "another aggregator speaks");
      table.clear();
      desk.clear();
    }
  }

  /** Whoever spoke meanwhile has an epoch of its own, later than the one before: followers shall see that it is over. */
  #beginEpoch(): void {
    const nowMs = Math.floor(this.#context.clock.nowMs());
    this.#state.epoch = Math.max(nowMs, this.#state.epoch + 1);
    this.#feeds.clear();
  }
}
