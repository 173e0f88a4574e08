// Hot path: `hear` runs once per batch of the rank. Budget 1 µs beside the index. Bench: bench/feed/feed-applier.bench.ts
import {
  type GetKvHistory,
  type KvEvent,
  type KvHistory,
  ServingError,
  unpackKvEvents,
} from "@baton/protocol";
import type { IndexJob, PrefixIndex, RankLoad, RankSlot } from "../prefix-index/prefix-index.ts";
import type { RankKey } from "../prefix-index/rank-slots.ts";
import { type Batch, BatchBuffer } from "./batch-buffer.ts";
import { type EventTarget, EventWalk } from "./event-walk.ts";
import type { FeedCounts } from "./feed-counts.ts";

/** What all ranks of a feed share. */
export interface FeedRankHost {
  readonly index: PrefixIndex;
  readonly counts: FeedCounts;
  readonly options: FeedRankOptions;
  /** The time as of the last call. */
  readonly nowMs: number;
  /** The rank has work for `step`. */
  work(rank: FeedRank): void;
  /** The rank has something to ask for, now or later. */
  due(rank: FeedRank): void;
  /** Work of the index that must be done some time. */
  later(job: IndexJob): void;
  malformed(rank: RankKey, error: ServingError): void;
}

/** Limits of a rank. */
export interface FeedRankOptions {
  /** Batches that wait, for what is missing before them and for their turn, each. */
  readonly bufferedBatches: number;
  /** A body of more bytes is applied in steps. */
  readonly inlineBytes: number;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
  /** Between resyncs of one rank, doubling from the first to the second. */
  readonly firstResyncMs: number;
  readonly maxResyncMs: number;
}

interface Recovery {
  /** Not to be asked before; null while an answer is awaited or being worked in. */
  dueAtMs: number | null;
  failures: number;
  /** Only a dump will do. */
  wantsDump: boolean;
}

interface Loading {
  readonly load: RankLoad;
  readonly sequence: number;
  walk: EventWalk;
  /** The page to ask for when this one is in; null after the last. */
  nextPage: number | null;
}

/**
 * One rank of one generation of a worker, as a router knows it: applies its batches in order, each once, and says what is missing.
 * What is in the index serves on while something is asked for. `cursor` is the newest batch that has been applied or will be next.
 */
export class FeedRank implements IndexJob {
  readonly key: RankKey;
  readonly slot: RankSlot;
  /** The newest entry of the feed about it, and of which epoch. */
  mark = 0;
  markEpoch = 0;
  /** The epoch in which its worker was asked whether something is missing. */
  checkedEpoch = 0;
  /** It is in the queue of those with work. */
  isQueued = false;
  readonly #host: FeedRankHost;
  readonly #buffer: BatchBuffer;
  readonly #target: EventTarget;
  readonly #loadTarget: EventTarget;
  readonly #refuse: (error: ServingError) => void;
  /** Batches up to the cursor that are not applied yet, from `#lineAt` on. */
  #line: Batch[] = [];
  #lineAt = 0;
  #walk: EventWalk | null = null;
  /** The rest of an answer is asked for when this part of it is applied. */
  #waitsForLine = false;
  #cursor: number | null = null;
  /** The newest batch that is known to exist. */
  #newest = 0;
  #recovery: Recovery | null = null;
  #loading: Loading | null = null;
  #resyncs = 0;
  #resyncedAtMs = Number.NEGATIVE_INFINITY;
  #resyncDueMs: number | null = null;
  #isClosed = false;

  constructor(key: RankKey, slot: RankSlot, host: FeedRankHost) {
    this.key = key;
    this.slot = slot;
    this.#host = host;
    this.#buffer = new BatchBuffer(host.options.bufferedBatches);
    this.#target = this.#indexTarget();
    this.#loadTarget = this.#dumpTarget();
    this.#refuse = (error) => {
      host.counts.malformed += 1;
      host.malformed(key, error);
    };
  }

  /** The newest batch that has been applied or will be next; null before anything is known. */
  get cursor(): number | null {
    return this.#cursor;
  }

  /** Batches that wait. */
  get waiting(): number {
    return this.#buffer.size + this.#line.length - this.#lineAt;
  }

  /** Something is being asked for, or taken in. */
  get isRecovering(): boolean {
    return this.#recovery !== null;
  }

  /** Asks in a row that did not help. */
  get failures(): number {
    return this.#recovery?.failures ?? 0;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** When it wants to ask for something; null if it has nothing to ask for, or has asked. */
  get dueAtMs(): number | null {
    if (this.#recovery !== null) return this.#recovery.dueAtMs;
    return this.#resyncDueMs;
  }

  /** A batch of the feed. */
  hear(sequence: number, events: Uint8Array): void {
    if (this.#cursor === null && this.#recovery === null && sequence === 1) this.#cursor = 0;
    const cursor = this.#cursor;
    if (cursor !== null && sequence <= cursor) {
      this.#host.counts.repeats += 1;
      return;
    }
    if (sequence > this.#newest) this.#newest = sequence;
    if (this.#recovery === null && cursor !== null && sequence === cursor + 1) {
      const isFull = this.#line.length - this.#lineAt >= this.#host.options.bufferedBatches;
      if (isFull)
        this.#host.counts.overflows += 1; // the end of the line finds the gap
      else this.#accept({ sequence, events });
      return;
    }
    const outcome = this.#buffer.add({ sequence, events });
    if (outcome === "repeated") this.#host.counts.repeats += 1;
    if (outcome === "overflowed") this.#host.counts.overflows += 1;
    if (this.#recovery === null) this.#recover(false);
  }

  /** The worker is at `sequence`, and what led there is not on the feed. */
  reach(sequence: number): void {
    this.#newest = Math.max(this.#newest, sequence);
    if (sequence === 0) this.#cursor ??= 0;
    if (this.#recovery === null && (this.#cursor ?? -1) < sequence) this.#recover(false);
  }

  /** Nobody knows how far the worker is: it is to be asked. */
  check(): void {
    if (this.#recovery === null) this.#recover(false);
  }

  /** Asks at once for what it would ask for later. */
  retryNow(nowMs: number): void {
    const recovery = this.#recovery;
    if (recovery === null || recovery.dueAtMs === null) return;
    recovery.dueAtMs = Math.min(recovery.dueAtMs, nowMs);
  }

  /** What to ask for. To be called when it is due. */
  ask(nowMs: number): GetKvHistory {
    if (this.#recovery === null) this.#beginResync(nowMs);
    const recovery = this.#recovery;
    if (recovery !== null) recovery.dueAtMs = null;
    const cursor = this.#cursor;
    const { workerId, generation, dpRank } = this.key;
    const about = { workerId, generation, dpRank };
    if (this.#loading !== null) {
      const { sequence: dump, nextPage: page } = this.#loading;
      return { ...about, from: null, dump, page: page ?? 0, atLeast: 0 };
    }
    const wantsDump = cursor === null || recovery?.wantsDump === true;
    const before = (this.#buffer.first?.sequence ?? this.#newest + 1) - 1;
    return {
      ...about,
      from: wantsDump ? null : cursor + 1,
      dump: null,
      page: 0,
      atLeast: Math.max(cursor ?? 0, before),
    };
  }

  /** The answer to what it asked for; null if there is none. */
  answer(answer: KvHistory | null): void {
    if (this.#isClosed || this.#recovery === null) return;
    const isTaken =
      answer !== null &&
      (answer.kind === "batches" ? this.#takeBatches(answer) : this.#takeDump(answer));
    if (!isTaken) this.#fail();
  }

  /** Applies what waits for its turn. True when nothing does. */
  step(maxBlocks: number): boolean {
    let room = maxBlocks;
    while (room > 0 && !this.#isClosed) {
      if (this.#loading !== null && !this.#loading.walk.isDone) room = this.#stepLoad(room);
      else if (this.#lineAt < this.#line.length) room = this.#stepLine(room);
      else return true;
    }
    return this.#isClosed;
  }

  /** The end: nothing is applied or asked for any more. */
  close(): void {
    this.#isClosed = true;
    this.#abandonLoad();
    this.#recovery = null;
    this.#resyncDueMs = null;
    this.#buffer.clear();
    this.#clearLine();
  }

  /** Takes the batch after the cursor. */
  #accept(batch: Batch): void {
    const { counts, options } = this.#host;
    const isIdle = this.#lineAt >= this.#line.length;
    if (isIdle && batch.events.byteLength <= options.inlineBytes) {
      this.#cursor = batch.sequence;
      counts.batches += 1;
      this.#walkOf(batch).step(Number.POSITIVE_INFINITY, this.#target);
      return;
    }
    this.#cursor = batch.sequence;
    this.#line.push(batch);
    this.#host.work(this);
  }

  #stepLine(maxBlocks: number): number {
    const batch = this.#line[this.#lineAt]!;
    this.#walk ??= this.#walkOf(batch);
    const room = this.#walk.step(maxBlocks, this.#target);
    if (!this.#walk.isDone) return 0;
    this.#walk = null;
    this.#host.counts.batches += 1;
    this.#lineAt += 1;
    if (this.#lineAt === this.#line.length) {
      this.#line = [];
      this.#lineAt = 0;
      this.#lineEnded();
    }
    // A batch without a block is work too.
    return Math.min(room, maxBlocks - 1);
  }

  /** All that was taken is applied: goes on with the recovery, or finds that a full line has let something go. */
  #lineEnded(): void {
    const recovery = this.#recovery;
    if (recovery === null) {
      if ((this.#cursor ?? 0) < this.#newest) this.#recover(false);
    } else if (recovery.dueAtMs === null && this.#waitsForLine) {
      this.#waitsForLine = false;
      this.#askAt(this.#host.nowMs);
    }
  }

  #stepLoad(maxBlocks: number): number {
    const loading = this.#loading;
    if (loading === null) return maxBlocks;
    const room = loading.walk.step(maxBlocks, this.#loadTarget);
    if (!loading.walk.isDone) return 0;
    if (loading.nextPage === null) this.#commit(loading);
    else this.#askAt(this.#host.nowMs);
    return Math.min(room, maxBlocks - 1);
  }

  #commit({ load, sequence }: Loading): void {
    this.#host.later(load.commit());
    this.#host.counts.dumps += 1;
    this.#loading = null;
    this.#clearLine();
    this.#cursor = sequence;
    this.#finish();
  }

  #recover(wantsDump: boolean): void {
    if (this.#cursor !== null && !wantsDump) this.#host.counts.rankGaps += 1;
    this.#recovery = { dueAtMs: null, failures: 0, wantsDump };
    this.#askAt(this.#host.nowMs);
  }

  #askAt(dueAtMs: number): void {
    if (this.#recovery === null) return;
    this.#recovery.dueAtMs = dueAtMs;
    this.#host.due(this);
  }

  #fail(): void {
    const recovery = this.#recovery;
    if (recovery === null) return;
    const { counts, nowMs, options } = this.#host;
    counts.failedAsks += 1;
    const waitMs = Math.min(options.maxBackoffMs, options.firstBackoffMs * 2 ** recovery.failures);
    recovery.failures += 1;
    this.#askAt(nowMs + waitMs);
  }

  #takeBatches({ lastSequence, bodies, next }: KvHistory): boolean {
    const cursor = this.#cursor;
    const recovery = this.#recovery;
    if (cursor === null || recovery === null || recovery.wantsDump) return false;
    const first = lastSequence - bodies.length + 1;
    if (first > cursor + 1) return false;
    bodies.forEach((events, index) => {
      const sequence = first + index;
      if (sequence > cursor) this.#line.push({ sequence, events });
    });
    this.#cursor = Math.max(cursor, lastSequence);
    const isNearer = this.#cursor > cursor;
    if (this.#line.length > this.#lineAt) this.#host.work(this);
    if (next === null) {
      const isWhole = isNearer || (this.#buffer.size === 0 && this.#cursor >= this.#newest);
      if (isWhole) this.#finish();
      return isWhole;
    }
    this.#waitsForLine = isNearer;
    return isNearer;
  }

  /** A dump older than what is known would undo it. */
  #takeDump(answer: KvHistory): boolean {
    if (answer.kind !== "dump") return false;
    const { lastSequence, page, next, bodies } = answer;
    const known = this.#loading;
    const isNext = known !== null && lastSequence === known.sequence && page === known.nextPage;
    if (!isNext) this.#abandonLoad();
    if (!isNext && (page !== 0 || lastSequence < (this.#cursor ?? 0))) return false;
    const opened = bodies.map((body) => this.#open(body));
    const walk = new EventWalk(opened.flatMap((events) => events ?? []));
    // A page that leads back, or on without having brought anything, would be followed for ever.
    const isEndless = next !== null && (next <= page || bodies.every(isEmptyBody));
    if (opened.includes(null) || isEndless) {
      this.#abandonLoad();
      return false;
    }
    if (isNext) {
      known.walk = walk;
      known.nextPage = next;
    } else {
      // It covers what is not applied yet, so from here on only a dump will do.
      this.#clearLine();
      this.#recovery = { dueAtMs: null, failures: this.failures, wantsDump: true };
      const load = this.#host.index.loadRank(this.slot);
      this.#loading = { load, sequence: lastSequence, walk, nextPage: next };
    }
    this.#newest = Math.max(this.#newest, lastSequence);
    if (walk.isDone) this.#stepLoad(1);
    else this.#host.work(this);
    return true;
  }

  #finish(): void {
    this.#recovery = null;
    this.#host.counts.recovered += 1;
    const buffer = this.#buffer;
    buffer.dropThrough(this.#cursor ?? 0);
    let next = buffer.first;
    while (next !== undefined && next.sequence === (this.#cursor ?? 0) + 1) {
      buffer.shift();
      this.#accept(next);
      next = buffer.first;
    }
    if (buffer.size > 0 || (this.#cursor ?? 0) < this.#newest) {
      // What a full line has let go is asked for when the line has ended.
      if (this.#lineAt >= this.#line.length || buffer.size > 0) this.#recover(false);
    }
    // What is to be read again may wait behind a recovery, but is not forgotten for it.
    if (this.#resyncDueMs !== null) this.#host.due(this);
  }

  #beginResync(nowMs: number): void {
    const { counts, options } = this.#host;
    if (nowMs - this.#resyncedAtMs > options.maxResyncMs) this.#resyncs = 0;
    this.#resyncs += 1;
    this.#resyncedAtMs = nowMs;
    this.#resyncDueMs = null;
    counts.resyncs += 1;
    this.#recover(true);
  }

  /** Something of the rank is not as the worker has it: a dump will mend it, but not over and over. */
  #wantResync(): void {
    const { nowMs, options } = this.#host;
    if (this.#resyncDueMs !== null || this.#recovery?.wantsDump === true) return;
    const isRested = nowMs - this.#resyncedAtMs > options.maxResyncMs;
    const waitMs = Math.min(
      options.maxResyncMs,
      options.firstResyncMs * 2 ** Math.max(0, this.#resyncs - 1),
    );
    this.#resyncDueMs = isRested ? nowMs : Math.max(nowMs, this.#resyncedAtMs + waitMs);
    this.#host.due(this);
  }

  /** The events of a body, those left out that cannot be read; null if it cannot be read at all. */
  #open(bytes: Uint8Array): readonly KvEvent[] | null {
    try {
      return unpackKvEvents(bytes, this.#refuse);
    } catch (error) {
      this.#refuse(ServingError.from(error));
      return null;
    }
  }

  /** The walk over a batch. What one that cannot be read has changed, a dump tells. */
  #walkOf(batch: Batch): EventWalk {
    const events = this.#open(batch.events);
    if (events === null) this.#wantResync();
    return new EventWalk(events ?? []);
  }

  #abandonLoad(): void {
    if (this.#loading === null) return;
    this.#host.later(this.#loading.load.abandon());
    this.#loading = null;
  }

  #clearLine(): void {
    this.#line = [];
    this.#lineAt = 0;
    this.#walk = null;
    this.#waitsForLine = false;
  }

  #indexTarget(): EventTarget {
    const { index, counts } = this.#host;
    return {
      store: (tier, parent, hashes) => index.store(this.slot, tier, parent, hashes),
      remove: (tier, hashes) => void index.remove(this.slot, tier, hashes),
      clear: () => this.#host.later(index.clearRank(this.slot)),
      orphaned: (blocks) => {
        counts.orphans += blocks;
        this.#wantResync();
      },
      dropped: () => {
        counts.dropped += 1;
      },
    };
  }

  /** In a dump there is nothing to take away, and asking again would bring the same orphans. */
  #dumpTarget(): EventTarget {
    const { counts } = this.#host;
    return {
      store: (tier, parent, hashes) => this.#loading?.load.store(tier, parent, hashes) ?? "stored",
      remove: () => undefined,
      clear: () => undefined,
      orphaned: (blocks) => {
        counts.orphans += blocks;
      },
      dropped: () => {
        counts.dropped += 1;
      },
    };
  }
}

/** A packed list without events is one byte. */
function isEmptyBody({ byteLength }: Uint8Array): boolean {
  return byteLength <= 1;
}
