// Hot path: `#hear` runs once per batch of every worker. Budget 3 µs beside the index. Bench: bench/kv-feed/kv-feed.bench.ts
import {
  defaultFeedApplierOptions,
  FeedApplier,
  type FeedApplierOptions,
  type FeedAsk,
  type PrefixIndex,
  type RankSlots,
} from "@baton/kv-router";
import {
  GetKvHistory,
  KvFeed,
  KvHistory,
  KvPositions,
  type ModelName,
  ServingError,
  type WorkerId,
  type WorkerType,
} from "@baton/protocol";
import type { ActorContext, BusListener, Timer } from "@baton/runtime";
import type { KvFeedFigures, KvFeedReading } from "./kv-feed-figures.ts";

/** What a follower keeps, and of whom. */
export interface KvFeedFollowerOptions {
  readonly model: ModelName;
  /** Whose caches are followed, for the figures. */
  readonly role: WorkerType;
  readonly index: PrefixIndex;
  /** The slots of ranks in the index, written by the follower and read by whoever scores. */
  readonly slots: RankSlots;
  /** Whether a worker's blocks are of use. True for one that is not known yet. Default: everybody's are. */
  readonly wants?: (workerId: WorkerId) => boolean;
  readonly figures: KvFeedFigures;
  /** Limits, where they are not to be those by default. */
  readonly limits?: Partial<FeedApplierOptions>;
}

/**
 * Keeps a prefix index as the workers' caches are, from the feed of the KvEventAggregator. Until it is synced, and while the
 * aggregator or the bus is away, the index holds what is known, and whoever finds nothing in it routes by load.
 */
export interface KvFeedFollower {
  /** True from when every rank that was there at the start has been taken in, or could not be. Stays true. */
  readonly synced: boolean;
  /** Called once, when `synced` becomes true; at once if it is. Returns what ends it. */
  onSynced(listener: () => void): () => void;
  /** Begins to listen and to ask. */
  start(): void;
  /** The catalog has told what workers are: lets go of what is not wanted. */
  workersChanged(): void;
  /** Ends it. The index stays as it is. */
  stop(): void;
}

/** Blocks between two looks at the clock: half a millisecond. */
const stepBlocks = 512;
/** The loop is given back after so long. */
const sliceMs = 4;
const positionsTimeoutMs = 1_000;
const historyTimeoutMs = 6_000;
const firstRetryMs = 100;
const maxRetryMs = 1_000;
/** After so long without an entry the positions are compared: the last entries may have been lost. */
const quietMs = 2_000;
/** While it stays quiet they are compared again so often: the aggregator may have started anew, and missed what was said. */
const stillQuietMs = 5_000;
const noBytes = new Uint8Array();

/** Makes a follower of one model's feed. */
export function createKvFeedFollower(
  ctx: ActorContext,
  options: KvFeedFollowerOptions,
): KvFeedFollower {
  return new BusKvFeedFollower(ctx, options);
}

class BusKvFeedFollower implements KvFeedFollower {
  readonly #ctx: ActorContext;
  readonly #model: ModelName;
  readonly #figures: KvFeedFigures;
  readonly #applier: FeedApplier;
  readonly #reading: KvFeedReading;
  readonly #listeners = new Set<() => void>();
  readonly #subscriptions: BusListener[] = [];
  #hide: (() => void) | null = null;
  #beat: Timer | null = null;
  #askTimer: Timer | null = null;
  #positionsTimer: Timer | null = null;
  #retryMs = firstRetryMs;
  #isAskingPositions = false;
  #isPumping = false;
  #isStopped = true;
  #isSynced = false;
  /** When the positions are compared next, if nothing is heard until then. */
  #compareAtMs = 0;

  constructor(ctx: ActorContext, options: KvFeedFollowerOptions) {
    const { figures, index, limits, model, role, slots } = options;
    this.#ctx = ctx;
    this.#model = model;
    this.#figures = figures;
    this.#applier = new FeedApplier(
      { ...defaultFeedApplierOptions, ...limits },
      {
        index,
        slots,
        wants: options.wants ?? (() => true),
        onMalformed: (rank, error) =>
          ctx.log.warn({ ...rank, model, problem: error.message }, "kv events malformed"),
      },
    );
    this.#reading = { model, role, index, applier: this.#applier };
  }

  get synced(): boolean {
    return this.#isSynced;
  }

  onSynced(listener: () => void): () => void {
    if (this.#isSynced) {
      listener();
      return () => undefined;
    }
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  start(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    const { bus, clock, heartbeatMs, subjects } = this.#ctx;
    // What is said from here on is heard; the positions then tell what was said before.
    this.#subscriptions.push(
      bus.subscribe(subjects.kvFeed(this.#model), ({ payload }) => this.#hear(payload)),
      bus.onState((state) => {
        if (state === "connected") this.#reconnected();
      }),
    );
    this.#hide = this.#figures.add(this.#reading);
    this.#beat = clock.setRepeating(heartbeatMs, () => this.#look());
    this.#compareAtMs = clock.nowMs() + stillQuietMs;
    this.#applier.positionsMissed();
    this.#goOn();
  }

  workersChanged(): void {
    this.#applier.reviewWants();
    this.#goOn();
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const subscription of this.#subscriptions.splice(0)) subscription.unsubscribe();
    for (const timer of [this.#beat, this.#askTimer, this.#positionsTimer]) timer?.cancel();
    this.#askTimer = null;
    this.#positionsTimer = null;
    this.#hide?.();
    this.#listeners.clear();
  }

  /** Hot path. */
  #hear(payload: Uint8Array): void {
    const entry = this.#decoded(payload, "kv feed", KvFeed.decode);
    if (entry === null) return;
    const nowMs = this.#ctx.clock.nowMs();
    this.#compareAtMs = nowMs + quietMs;
    this.#applier.take(entry, nowMs);
    if (this.#applier.isIdle) return;
    this.#goOn();
  }

  #reconnected(): void {
    const { clock } = this.#ctx;
    this.#retryMs = firstRetryMs;
    this.#positionsTimer?.cancel();
    this.#positionsTimer = null;
    this.#applier.positionsMissed();
    this.#applier.retryNow(clock.nowMs());
    this.#goOn();
  }

  /** Does whatever there is to do: works, asks, or waits for the time to ask. */
  #goOn(): void {
    if (this.#isStopped) return;
    if (!this.#isPumping) {
      this.#isPumping = true;
      this.#pump().catch((error: unknown) => this.#ctx.fail(error));
    }
    if (this.#ctx.bus.state !== "connected") return;
    if (this.#applier.wantsPositions && this.#positionsTimer === null) this.#askPositions();
    this.#askHistory();
  }

  async #pump(): Promise<void> {
    const { clock } = this.#ctx;
    while (!this.#isStopped) {
      const untilMs = clock.nowMs() + sliceMs;
      let isIdle = this.#applier.step(stepBlocks);
      while (!isIdle && clock.nowMs() < untilMs) isIdle = this.#applier.step(stepBlocks);
      if (isIdle) break;
      if (this.#ctx.bus.state === "connected") this.#askHistory();
      await clock.yield();
    }
    this.#isPumping = false;
    this.#tellSynced();
    if (!this.#isStopped && this.#ctx.bus.state === "connected") this.#askHistory();
  }

  #askPositions(): void {
    if (this.#isAskingPositions) return;
    this.#isAskingPositions = true;
    this.#applier.askPositions();
    const { bus, subjects } = this.#ctx;
    bus
      .request(subjects.getKvPositions(this.#model), noBytes, { timeoutMs: positionsTimeoutMs })
      .then((payload) => this.#takePositions(payload))
      .catch((error: unknown) => {
        const { code } = ServingError.from(error);
        this.#ctx.log.debug({ code, model: this.#model }, "no kv positions from aggregator");
        this.#applier.positionsMissed();
      })
      .finally(() => {
        this.#isAskingPositions = false;
        this.#askPositionsLater();
      });
  }

  #takePositions(payload: Uint8Array): void {
    const positions = this.#decoded(payload, "kv positions", KvPositions.decode);
    if (positions === null) {
      this.#applier.positionsMissed();
      return;
    }
    this.#retryMs = firstRetryMs;
    if (this.#isStopped) return;
    this.#applier.takePositions(positions, this.#ctx.clock.nowMs());
    this.#goOn();
  }

  /** Not at once: on a bad line every entry may show another gap. */
  #askPositionsLater(): void {
    if (this.#isStopped || this.#positionsTimer !== null) return;
    this.#positionsTimer = this.#ctx.clock.setTimer(this.#retryMs, () => {
      this.#positionsTimer = null;
      this.#goOn();
    });
    if (this.#applier.wantsPositions) this.#retryMs = Math.min(maxRetryMs, this.#retryMs * 2);
  }

  #askHistory(): void {
    const { clock } = this.#ctx;
    this.#askTimer?.cancel();
    this.#askTimer = null;
    for (const ask of this.#applier.takeAsks(clock.nowMs())) this.#request(ask);
    const nextMs = this.#applier.nextAskAtMs;
    if (nextMs === null) return;
    this.#askTimer = clock.setTimer(Math.max(0, nextMs - clock.nowMs()), () => {
      this.#askTimer = null;
      this.#goOn();
    });
  }

  #request(ask: FeedAsk): void {
    const { bus, log, subjects } = this.#ctx;
    const subject = subjects.getKvHistory(this.#model);
    const { workerId, dpRank } = ask.question;
    bus
      .request(subject, GetKvHistory.encode(ask.question), { timeoutMs: historyTimeoutMs })
      .then((payload) => this.#decoded(payload, "kv history", KvHistory.decode))
      .catch((error: unknown) => {
        log.debug({ code: ServingError.from(error).code, workerId, dpRank }, "no kv history");
        return null; // it is asked for again
      })
      .then((answer) => {
        if (this.#isStopped) return;
        this.#applier.takeHistory(ask, answer, this.#ctx.clock.nowMs());
        this.#goOn();
      })
      .catch((error: unknown) => this.#ctx.fail(error));
  }

  #look(): void {
    this.#figures.sync(this.#reading);
    const nowMs = this.#ctx.clock.nowMs();
    if (nowMs < this.#compareAtMs) return;
    this.#compareAtMs = nowMs + stillQuietMs;
    this.#applier.positionsMissed();
    this.#goOn();
  }

  #tellSynced(): void {
    if (this.#isSynced || !this.#applier.synced) return;
    this.#isSynced = true;
    this.#ctx.log.info({ model: this.#model, ranks: this.#applier.ranks }, "kv feed synced");
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  #decoded<T>(payload: Uint8Array, what: string, decode: (bytes: Uint8Array) => T): T | null {
    try {
      return decode(payload);
    } catch (error) {
      // It stops here: what was lost with it shows as a gap.
      this.#figures.malformed(this.#reading);
      this.#ctx.log.warn({ err: error, model: this.#model, what }, "message undecodable");
      return null;
    }
  }
}
