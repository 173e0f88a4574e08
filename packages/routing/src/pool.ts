/** Hot path: `choose` once per request and leg. */
import type { WorkerView } from "@baton/cluster-view";
import {
  type BookingEntry,
  createFlatIndex,
  createPredictedIndex,
  createRoutingCore,
  createSelector,
  type Narrow,
  type PrefixIndex,
  type RankSlots,
  type RoutingCore,
  type RoutingCoreOptions,
  type Selection,
  type SelectionExplanation,
  type SelectionRequest,
  type WorkerSelector,
} from "@baton/kv-router";
import type { ActorId, WorkerId, WorkerType } from "@baton/protocol";
import type { DeskLimits } from "./desk-policy.ts";
import type { LoadedPolicy } from "./policy/load-policy.ts";
import { policyForPool } from "./policy/policy-for-pool.ts";
import { createStagePolicy } from "./policy/policy-modules.ts";
import type { CachePolicy, StagePolicy } from "./policy/router-policy.ts";
import { PoolSessions } from "./pool-sessions.ts";
import { routableWorker } from "./routable-worker.ts";

/** What follows a model's KV feed into an index. */
export interface IndexFeed {
  /** What workers are is known anew. */
  workersChanged(): void;
  stop(): void;
}

/** What a feed writes into. */
export interface FeedTarget {
  /** Whose caches it holds. */
  readonly role: WorkerType;
  readonly index: PrefixIndex;
  readonly slots: RankSlots;
  /** Whether a worker's blocks are wanted. True for one that is not known yet. */
  wants(workerId: WorkerId): boolean;
}

/** What a pool is given. */
export interface PoolDeps {
  readonly workerType: WorkerType;
  /** This router. */
  readonly routerId: ActorId;
  readonly limits: DeskLimits;
  /** Begins to follow the model's KV feed. */
  openFeed(target: FeedTarget): IndexFeed;
  /** Told of bookings that are not known any more, though they may still run. */
  onForgotten(entries: readonly BookingEntry[]): void;
  /** Tells an operator of what is odd in the pool's configuration. */
  warn(text: string): void;
}

/** A request that is to be placed, as the desk knows it. */
export type PoolRequest = Omit<SelectionRequest, "blockSize"> & {
  /** 8 bytes per full block of the prompt. */
  readonly sequenceHashes: Uint8Array;
};

/** How much of the prompt counts as load on the chosen rank. */
export interface BookedShare {
  /** Prompt tokens that the rank must compute. */
  readonly prefillTokens: number;
  readonly sequenceHashes: Uint8Array;
}

const noHashes = new Uint8Array();

/** The workers of one type of a model: how they are chosen among, and all that is known of them for that. */
export class Pool {
  readonly workerType: WorkerType;
  readonly sessions: PoolSessions;
  readonly #deps: PoolDeps;
  #loaded: LoadedPolicy;
  #workers: readonly WorkerView[] = [];
  #types = new Map<WorkerId, WorkerType>();
  #known = new Map<WorkerId, WorkerView>();
  #stage: StagePolicy;
  #selector: WorkerSelector;
  #core: RoutingCore;
  #feed: IndexFeed | null = null;
  #wantsFeed = false;
  #blockSize = 1;
  #warned = new Set<string>();

  constructor(loaded: LoadedPolicy, deps: PoolDeps) {
    this.workerType = deps.workerType;
    this.#deps = deps;
    this.#loaded = loaded;
    this.#stage = loaded.policy.stages[deps.workerType];
    this.sessions = new PoolSessions(deps.routerId);
    this.sessions.configure(this.#stage.affinity);
    this.#selector = createSelector(createStagePolicy(this.#stage, loaded.modules));
    this.#core = this.#createCore();
  }

  /** Candidates, bookings and load. */
  get core(): RoutingCore {
    return this.#core;
  }

  /** The router mode, or the type of a policy of one's own. */
  get mode(): string {
    return this.#selector.mode;
  }

  /** Tokens a block. */
  get blockSize(): number {
    return this.#blockSize;
  }

  /** The worker's view; undefined unless it is of this pool and not lost. */
  worker(workerId: WorkerId): WorkerView | undefined {
    return this.#known.get(workerId);
  }

  /** Chooses by another policy from the next choice on. */
  setPolicy(loaded: LoadedPolicy): void {
    this.#loaded = loaded;
    this.#configure(loaded.modules);
  }

  /** Takes over all workers of the model. `wantsFeed`: whether what this pool's workers hold is worth to be followed. */
  setWorkers(all: readonly WorkerView[], wantsFeed: boolean): void {
    this.#workers = all;
    this.#types = new Map(all.map(({ id, workerType }) => [id, workerType]));
    this.#known = new Map();
    for (const worker of all) {
      if (worker.workerType !== this.workerType || worker.state === "lost") continue;
      this.#known.set(worker.id, worker);
      this.#blockSize = worker.registration.card.blockSize;
    }
    this.#wantsFeed = wantsFeed;
    this.#configure(null);
    this.#core.setWorkers(this.#routable);
    this.#feed?.workersChanged();
  }

  /** Whether a worker has as many requests as it takes. False if it is not there. */
  isFull(workerId: WorkerId): boolean {
    const candidates = this.#core.candidates(this.workerType);
    const rank = candidates.find((candidate) => candidate.workerId === workerId);
    return rank !== undefined && rank.workerRequestsInFlight >= rank.maxRequestsInFlight;
  }

  choose(request: PoolRequest, random: number, narrow?: Narrow): Selection {
    return this.#core.choose(this.#asked(request), random, narrow);
  }

  explain(request: PoolRequest, random: number, narrow?: Narrow): SelectionExplanation {
    return this.#core.explain(this.#asked(request), random, narrow);
  }

  /** What a request that goes to a rank with so many cached tokens is to be booked as. */
  share(request: PoolRequest, cachedTokens: number): BookedShare {
    const { tracking, cache } = this.#stage;
    const { overrides, promptTokens, sequenceHashes } = request;
    const countsTokens = overrides?.trackPrefillTokens ?? tracking.trackPrefillTokens;
    const isPredicted = cache.predictedTtlMs !== null || !cache.useKvEvents;
    const isCounted = tracking.trackActiveBlocks && tracking.assumeKvReuse;
    const needsHashes =
      this.#selector.usesCacheData &&
      overrides?.assumeKvReuse !== false &&
      (isCounted || isPredicted);
    return {
      prefillTokens: countsTokens ? Math.max(0, promptTokens - cachedTokens) : 0,
      sequenceHashes: needsHashes ? sequenceHashes : noHashes,
    };
  }

  close(): void {
    this.#feed?.stop();
    this.#feed = null;
  }

  #asked(request: PoolRequest) {
    return { ...request, workerType: this.workerType, blockSize: this.#blockSize };
  }

  get #routable() {
    return [...this.#known.values()].map(routableWorker);
  }

  /** Works out the pool's policy anew. `modules`: those of a policy that was read anew. */
  #configure(modules: LoadedPolicy["modules"] | null): void {
    const { policy, warnings } = policyForPool(this.#loaded.policy, this.workerType, this.#cards);
    for (const text of warnings) {
      if (!this.#warned.has(text)) this.#deps.warn(text);
    }
    this.#warned = new Set(warnings);
    const before = this.#stage;
    const isAnother = modules !== null || !isEqual(before, policy);
    if (isAnother) {
      this.#stage = policy;
      this.sessions.configure(policy.affinity);
      this.#selector = createSelector(createStagePolicy(policy, this.#loaded.modules));
    }
    const hasIndex = this.#core.index !== null;
    if (hasIndex !== this.#wantsIndex || !isCountedAlike(before, policy)) this.#replaceCore();
    else if (isAnother) this.#core.setPolicy(this.#selector, policy.thresholds);
  }

  /** What workers say of their pool's routing. One that is lost says it only where nobody else is there to say another thing. */
  get #cards() {
    const present = this.#workers.filter(({ state }) => state !== "lost");
    const speaking = present.length > 0 ? present : this.#workers;
    return speaking.map(({ registration }) => registration);
  }

  /** Whether what workers hold is to be followed: only then is there an index, and it begins empty each time. */
  get #wantsIndex(): boolean {
    return this.#wantsFeed && this.#stage.cache.useKvEvents && this.#selector.usesCacheData;
  }

  /** What is counted or followed has changed: counts afresh. Workers name all that they run with their next heartbeat. */
  #replaceCore(): void {
    this.close();
    const before = this.#core;
    const core = this.#createCore();
    this.#core = core;
    core.setWorkers(this.#routable);
    for (const { workerId, refusesUntilMs } of before.candidates(this.workerType)) {
      if (refusesUntilMs > 0) core.refuse(workerId, refusesUntilMs);
    }
    for (const { id, load } of this.#known.values()) {
      if (load !== null) core.reported(load);
      this.#deps.onForgotten(before.dropWorker(id, Number.POSITIVE_INFINITY, 0));
    }
    this.#followFeed();
  }

  #createCore(): RoutingCore {
    const { cache, prefillDuration, thresholds, tracking } = this.#stage;
    const { bookingGraceMs: graceMs, bookingLimit: limit } = this.#deps.limits;
    return createRoutingCore({
      selector: this.#selector,
      bookings: { limit, graceMs },
      tracking,
      thresholds,
      prefillDuration,
      ...(this.#wantsIndex ? { index: createFlatIndex({}) } : {}),
      ...predictedIn(cache),
    });
  }

  #followFeed(): void {
    const { index, indexSlots: slots } = this.#core;
    if (index === null) return;
    const wants = (workerId: WorkerId) =>
      (this.#types.get(workerId) ?? this.workerType) === this.workerType;
    this.#feed = this.#deps.openFeed({ role: this.workerType, index, slots, wants });
  }
}

/** With events, what bridges the time to them if that is wanted; without, all that is known. */
function predictedIn(cache: CachePolicy): Pick<RoutingCoreOptions, "predicted"> {
  const { approximateCachePolicy, predictedTtlMs, ttlMs: ownTtlMs, useKvEvents } = cache;
  if (!useKvEvents && approximateCachePolicy === "lru") {
    return { predicted: (blocksOf) => createPredictedIndex({ policy: "lru", blocksOf }) };
  }
  const ttlMs = useKvEvents ? predictedTtlMs : ownTtlMs;
  if (ttlMs === null) return {};
  return { predicted: () => createPredictedIndex({ policy: "ttl", ttlMs }) };
}

function isEqual(left: StagePolicy, right: StagePolicy): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function isCountedAlike(left: StagePolicy, right: StagePolicy): boolean {
  const counted = ({ cache, prefillDuration, tracking }: StagePolicy) =>
    JSON.stringify([cache, prefillDuration, tracking]);
  return counted(left) === counted(right);
}
