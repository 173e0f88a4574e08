// Hot path: `take` runs once per batch of every worker. Budget 1 µs beside the index. Bench: bench/feed/feed-applier.bench.ts
import type {
  GetKvHistory,
  KvFeed,
  KvHistory,
  KvPosition,
  KvPositions,
  ServingError,
  WorkerId,
} from "@baton/protocol";
import type { IndexJob, PrefixIndex } from "../prefix-index/prefix-index.ts";
import type { RankKey, RankSlots } from "../prefix-index/rank-slots.ts";
import { type FeedCounts, makeFeedCounts } from "./feed-counts.ts";
import { FeedRank, type FeedRankHost, type FeedRankOptions } from "./feed-rank.ts";

/** What an applier is given. */
export interface FeedApplierDeps {
  readonly index: PrefixIndex;
  /** The slots of ranks in the index: opened and closed here, and read by whoever scores. */
  readonly slots: RankSlots;
  /** Whether a worker's blocks are of use. True for one that is not known yet. */
  wants(workerId: WorkerId): boolean;
  /** A body or an event cannot be read. Already counted. */
  onMalformed?(rank: RankKey, error: ServingError): void;
}

/** Limits of an applier. */
export interface FeedApplierOptions extends FeedRankOptions {
  /** Most ranks that are followed; as many generations that are gone are remembered. */
  readonly maxRanks: number;
  /** Most asks under way at once. */
  readonly maxAsks: number;
}

/** Limits that fit a router. */
export const defaultFeedApplierOptions: FeedApplierOptions = {
  bufferedBatches: 1_024,
  inlineBytes: 65_536,
  firstBackoffMs: 200,
  maxBackoffMs: 5_000,
  firstResyncMs: 1_000,
  maxResyncMs: 60_000,
  maxRanks: 10_000,
  maxAsks: 16,
};

/** Something to ask the aggregator. */
export interface FeedAsk {
  readonly id: number;
  readonly question: GetKvHistory;
}

interface FeedWorker {
  readonly generation: number;
  readonly ranks: Map<number, FeedRank>;
}

interface Fence {
  /** Nothing of this generation or an earlier one counts. */
  readonly generation: number;
  /** The later generation that was told to live, if that is why there is a mark. */
  readonly lives: number | null;
  readonly epoch: number;
  readonly feedSequence: number;
}

/**
 * Keeps a prefix index as the feed of a model's KV events tells it. No I/O: it takes what comes, says what to ask for, and does
 * long work in steps. Whatever is missed is asked for, once, while what is known serves on; nothing of a generation that is gone
 * has a slot. An aggregator that restarts costs only what was said meanwhile, because batches are numbered by their workers.
 */
export class FeedApplier {
  readonly counts: FeedCounts = makeFeedCounts();
  readonly #deps: FeedApplierDeps;
  readonly #options: FeedApplierOptions;
  readonly #host: FeedRankHost;
  readonly #workers = new Map<WorkerId, FeedWorker>();
  readonly #fences = new Map<WorkerId, Fence>();
  /** Ranks with work, in turn. */
  readonly #busy: FeedRank[] = [];
  /** Work of the index, one after the other. */
  readonly #jobs: IndexJob[] = [];
  readonly #due = new Set<FeedRank>();
  readonly #asked = new Map<number, FeedRank>();
  /** Ranks that were to be brought up when the feed was first known. */
  readonly #first = new Set<FeedRank>();
  #nowMs = 0;
  #epoch = 0;
  #feedSequence = 0;
  #ranks = 0;
  #asks = 0;
  #wantsPositions = true;
  #hasPositions = false;
  #isSynced = false;

  constructor(options: FeedApplierOptions, deps: FeedApplierDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#host = this.#makeHost();
  }

  /** Ranks that are followed. */
  get ranks(): number {
    return this.#ranks;
  }

  /** Batches that wait. */
  get waiting(): number {
    let total = 0;
    for (const { ranks } of this.#workers.values()) {
      for (const rank of ranks.values()) total += rank.waiting;
    }
    return total;
  }

  /** Ranks for which something is being asked or taken in. */
  get recovering(): number {
    let total = 0;
    for (const { ranks } of this.#workers.values()) {
      for (const rank of ranks.values()) total += rank.isRecovering ? 1 : 0;
    }
    return total;
  }

  /** The epoch that is followed; 0 before the first. */
  get epoch(): number {
    return this.#epoch;
  }

  /** From when every rank that was there at the start has been taken in, or could not be. Stays true. */
  get synced(): boolean {
    return this.#isSynced;
  }

  /** Whether the aggregator is to be asked for the positions of its feed. */
  get wantsPositions(): boolean {
    return this.#wantsPositions;
  }

  /** Whether there is nothing to work on, to ask for, or to wait for. */
  get isIdle(): boolean {
    return (
      this.#busy.length === 0 &&
      this.#jobs.length === 0 &&
      this.#due.size === 0 &&
      !this.#wantsPositions
    );
  }

  /** The time of the next ask, by the times that were given; null if there is none, or too many are under way. */
  get nextAskAtMs(): number | null {
    if (this.#asked.size >= this.#options.maxAsks) return null;
    let next: number | null = null;
    for (const { dueAtMs } of this.#due) {
      if (dueAtMs !== null && (next === null || dueAtMs < next)) next = dueAtMs;
    }
    return next;
  }

  /** Takes an entry of the feed. */
  take(entry: KvFeed, nowMs: number): void {
    this.#nowMs = nowMs;
    if (!this.#follow(entry)) return;
    switch (entry.kind) {
      case "gone":
        this.#giveUp(entry);
        return;
      case "back":
        this.#takeBack(entry);
        return;
      case "reached":
        this.#rankOf(entry)?.reach(entry.sequence);
        return;
      case "batch":
        this.#rankOf(entry)?.hear(entry.sequence, entry.events);
    }
  }

  /** Says that the positions are being asked for. If that fails, `positionsMissed`. */
  askPositions(): void {
    this.#wantsPositions = false;
  }

  /** Entries may have been missed, or an ask for positions has failed. */
  positionsMissed(): void {
    this.#wantsPositions = true;
  }

  /** Takes the answer. Whatever it does not list is gone, unless something later was heard of it. */
  takePositions(positions: KvPositions, nowMs: number): void {
    this.#nowMs = nowMs;
    const { epoch, feedSequence, ranks } = positions;
    if (epoch !== this.#epoch) this.#begin(epoch, feedSequence);
    else this.#feedSequence = Math.max(this.#feedSequence, feedSequence);
    const listed = new Set<FeedRank>();
    for (const position of ranks) {
      this.#liftFence(position, positions);
      const rank = this.#rankOf({ ...position, epoch, feedSequence });
      if (rank === undefined) continue;
      listed.add(rank);
      this.#compare(rank, position.sequence);
      if (!this.#hasPositions && rank.isRecovering) this.#first.add(rank);
    }
    this.#dropUnlisted(listed, positions);
    this.#hasPositions = true;
    this.#checkSynced();
  }

  /** What to ask for now. Each is to be answered by `takeHistory`. */
  takeAsks(nowMs: number): readonly FeedAsk[] {
    this.#nowMs = nowMs;
    const asks: FeedAsk[] = [];
    for (const rank of this.#due) {
      if (this.#asked.size >= this.#options.maxAsks) break;
      const { dueAtMs } = rank;
      if (dueAtMs !== null && dueAtMs > nowMs) continue;
      if (dueAtMs !== null && !rank.isClosed) {
        this.#asks += 1;
        this.#asked.set(this.#asks, rank);
        asks.push({ id: this.#asks, question: rank.ask(nowMs) });
      }
      this.#due.delete(rank);
    }
    return asks;
  }

  /** Takes an answer; null if there is none. */
  takeHistory({ id }: FeedAsk, answer: KvHistory | null, nowMs: number): void {
    this.#nowMs = nowMs;
    const rank = this.#asked.get(id);
    if (rank === undefined) return;
    this.#asked.delete(id);
    rank.answer(isOf(rank.key, answer) ? answer : null);
    this.#checkSynced();
  }

  /** Asks now for what is to be asked for later: the aggregator can be reached again. */
  retryNow(nowMs: number): void {
    for (const rank of this.#due) rank.retryNow(nowMs);
  }

  /** Lets go of the ranks of workers that are not wanted any more: the catalog has told what they are. */
  reviewWants(): void {
    for (const [id, worker] of this.#workers) {
      if (!this.#deps.wants(id)) this.#drop(id, worker);
    }
  }

  /** Does at most about `maxBlocks` blocks of what waits. True when nothing does. */
  step(maxBlocks: number): boolean {
    const rank = this.#busy.shift();
    if (rank !== undefined) {
      if (rank.step(maxBlocks)) rank.isQueued = false;
      else this.#busy.push(rank);
    } else if (this.#jobs[0]?.step(maxBlocks) === true) {
      this.#jobs.shift();
    }
    this.#checkSynced();
    return this.#busy.length === 0 && this.#jobs.length === 0;
  }

  /** False if the entry is of an aggregator that speaks no more. */
  #follow({ epoch, feedSequence }: KvFeed): boolean {
    if (epoch < this.#epoch) {
      this.counts.staleEpochs += 1;
      // Unless it is this one that speaks now: its positions will tell.
      this.#wantsPositions = true;
      return false;
    }
    if (epoch > this.#epoch) {
      this.#begin(epoch, feedSequence);
      this.#wantsPositions = true;
    } else if (feedSequence > this.#feedSequence) {
      if (feedSequence > this.#feedSequence + 1) {
        this.counts.feedGaps += 1;
        this.#wantsPositions = true;
      }
      this.#feedSequence = feedSequence;
    }
    return true;
  }

  #begin(epoch: number, feedSequence: number): void {
    this.counts.epochs += 1;
    this.#epoch = epoch;
    this.#feedSequence = feedSequence;
  }

  #giveUp(entry: KvFeed): void {
    const { workerId, generation, epoch, feedSequence } = entry;
    const worker = this.#workers.get(workerId);
    if (this.#isOvertaken(entry, worker)) return;
    const fenced = this.#fences.get(workerId)?.generation ?? Number.NEGATIVE_INFINITY;
    if (fenced <= generation) {
      this.#fence(workerId, { generation, lives: null, epoch, feedSequence });
    }
    if (worker !== undefined && worker.generation <= generation) this.#drop(workerId, worker);
  }

  /** Whether the generation was told to live later than this entry was sent. */
  #isOvertaken(entry: KvFeed, worker: FeedWorker | undefined): boolean {
    const { workerId, generation, epoch, feedSequence } = entry;
    const fence = this.#fences.get(workerId);
    if (fence?.lives === generation && fence.epoch === epoch) {
      if (fence.feedSequence > feedSequence) return true;
    }
    if (worker?.generation !== generation) return false;
    for (const rank of worker.ranks.values()) {
      if (rank.markEpoch === epoch && rank.mark > feedSequence) return true;
    }
    return false;
  }

  #takeBack({ workerId, generation, epoch, feedSequence }: KvFeed): void {
    const fence = this.#fences.get(workerId);
    if (fence !== undefined && fence.generation > generation) return;
    this.#fence(workerId, { generation: generation - 1, lives: generation, epoch, feedSequence });
  }

  #fence(workerId: WorkerId, fence: Fence): void {
    this.#fences.delete(workerId);
    this.#fences.set(workerId, fence);
    if (this.#fences.size <= this.#options.maxRanks) return;
    const oldest = this.#fences.keys().next();
    if (oldest.done !== true) this.#fences.delete(oldest.value);
  }

  /** A generation that is listed is not gone, unless that was said later than the list was made. */
  #liftFence({ workerId, generation }: KvPosition, { epoch, feedSequence }: KvPositions): void {
    const fence = this.#fences.get(workerId);
    if (fence === undefined || fence.generation !== generation) return;
    if (fence.epoch === epoch && fence.feedSequence > feedSequence) return;
    this.#fences.delete(workerId);
  }

  #compare(rank: FeedRank, sequence: number | null): void {
    if (sequence !== null) {
      rank.reach(sequence);
    } else if (rank.checkedEpoch !== this.#epoch) {
      rank.checkedEpoch = this.#epoch;
      rank.check();
    }
  }

  #dropUnlisted(listed: ReadonlySet<FeedRank>, { epoch, feedSequence }: KvPositions): void {
    for (const [id, worker] of this.#workers) {
      for (const [dpRank, rank] of worker.ranks) {
        const isLater = rank.markEpoch === epoch && rank.mark > feedSequence;
        if (listed.has(rank) || isLater) continue;
        worker.ranks.delete(dpRank);
        this.#close(rank);
      }
      if (worker.ranks.size === 0) this.#workers.delete(id);
    }
  }

  /** The rank that an entry is about, made if it is new; undefined if nothing of it counts. */
  #rankOf(entry: Omit<KvFeed, "kind" | "events" | "sequence">): FeedRank | undefined {
    const worker = this.#workers.get(entry.workerId);
    const known =
      worker?.generation === entry.generation ? worker.ranks.get(entry.dpRank) : undefined;
    const rank = known ?? this.#admit(entry, worker);
    if (rank === undefined) return undefined;
    rank.mark = entry.feedSequence;
    rank.markEpoch = entry.epoch;
    return rank;
  }

  #admit(
    { workerId, generation, dpRank, epoch }: RankKey & Pick<KvFeed, "epoch">,
    worker: FeedWorker | undefined,
  ): FeedRank | undefined {
    const isGone = this.#isFenced(workerId, generation, epoch);
    if (isGone || generation < (worker?.generation ?? 0)) {
      this.counts.fenced += 1;
      return undefined;
    }
    if (!this.#deps.wants(workerId)) {
      this.counts.unwanted += 1;
      return undefined;
    }
    if (worker !== undefined && worker.generation < generation) this.#drop(workerId, worker);
    if (this.#ranks >= this.#options.maxRanks) {
      this.counts.refused += 1;
      return undefined;
    }
    const key = { workerId, generation, dpRank };
    const rank = new FeedRank(key, this.#deps.slots.open(key), this.#host);
    const known = this.#workers.get(workerId);
    if (known === undefined) {
      this.#workers.set(workerId, { generation, ranks: new Map([[dpRank, rank]]) });
    } else {
      known.ranks.set(dpRank, rank);
    }
    this.#ranks += 1;
    return rank;
  }

  /** An aggregator that came later knows better whether a generation lives that an earlier one gave up. */
  #isFenced(workerId: WorkerId, generation: number, epoch: number): boolean {
    const fence = this.#fences.get(workerId);
    if (fence === undefined || generation > fence.generation) return false;
    return generation < fence.generation || epoch === fence.epoch;
  }

  #drop(id: WorkerId, worker: FeedWorker): void {
    this.#workers.delete(id);
    for (const rank of worker.ranks.values()) this.#close(rank);
  }

  #close(rank: FeedRank): void {
    const { index, slots } = this.#deps;
    rank.close();
    this.#ranks -= 1;
    this.#due.delete(rank);
    this.#first.delete(rank);
    slots.close(rank.key);
    const job = index.removeRank(rank.slot);
    this.#jobs.push({
      step: (maxBlocks) => {
        if (!job.step(maxBlocks)) return false;
        slots.recycle(rank.slot);
        return true;
      },
    });
  }

  #checkSynced(): void {
    if (this.#isSynced || !this.#hasPositions) return;
    for (const rank of this.#first) {
      if (!rank.isRecovering || rank.failures > 0) this.#first.delete(rank);
    }
    this.#isSynced = this.#first.size === 0;
  }

  #makeHost(): FeedRankHost {
    const nowMs = () => this.#nowMs;
    return {
      index: this.#deps.index,
      counts: this.counts,
      options: this.#options,
      get nowMs() {
        return nowMs();
      },
      work: (rank) => {
        if (rank.isQueued) return;
        rank.isQueued = true;
        this.#busy.push(rank);
      },
      due: (rank) => void this.#due.add(rank),
      later: (job) => void this.#jobs.push(job),
      malformed: (rank, error) => this.#deps.onMalformed?.(rank, error),
    };
  }
}

function isOf(key: RankKey, answer: KvHistory | null): boolean {
  if (answer === null) return false;
  const { workerId, generation, dpRank } = key;
  return (
    answer.workerId === workerId && answer.generation === generation && answer.dpRank === dpRank
  );
}
