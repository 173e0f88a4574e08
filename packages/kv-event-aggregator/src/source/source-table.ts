import type {
  KvEvents,
  KvFeedKind,
  KvHistory,
  KvPosition,
  ModelName,
  WorkerId,
} from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import { BoundedMap } from "./bounded-map.ts";
import { RankSource, type RankSourceOptions, type SourceCounts } from "./rank-source.ts";
import { WorkerSource } from "./worker-source.ts";

/** A worker as the cluster view knows it. */
export interface ListedWorker {
  readonly id: WorkerId;
  readonly generation: number;
  readonly model: ModelName;
  readonly isLost: boolean;
  /** Its ranks by number. */
  readonly dpRanks: readonly number[];
}

/** Counts of the table, beside those of its sources. */
export interface TableCounts extends SourceCounts {
  /** Batches of a generation that is gone. */
  fenced: number;
  /** Batches of workers that no catalog lists. */
  unlisted: number;
  /** Batches of ranks that their worker does not have, or that came when no source more may be kept. */
  refused: number;
  gone: number;
  /** Generations that had been given up for their silence, and were heard again. */
  back: number;
}

/** Zero of everything. */
export function makeTableCounts(): TableCounts {
  return {
    repeats: 0,
    gaps: 0,
    recovered: 0,
    failedAsks: 0,
    holes: 0,
    overflows: 0,
    fenced: 0,
    unlisted: 0,
    refused: 0,
    gone: 0,
    back: 0,
  };
}

/** What a table puts on a feed. */
export interface SourceEntry {
  readonly kind: KvFeedKind;
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  readonly sequence: number;
  readonly events: Uint8Array;
}

/** What is asked of a worker. */
export interface SourceAsk {
  readonly model: ModelName;
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  /** Null: how far it has come. */
  readonly from: number | null;
}

/** What a table is given. */
export interface SourceTableDeps {
  readonly clock: Clock;
  readonly counts: TableCounts;
  /** The worker as the catalog lists it, with its latest generation. */
  lookUp(id: WorkerId): ListedWorker | undefined;
  /** Puts an entry on a model's feed. False if the bus does not take it. */
  emit(model: ModelName, entry: SourceEntry): boolean;
  /** Asks a worker; calls `done` later and once. */
  ask(ask: SourceAsk, done: (answer: KvHistory | null) => void): void;
}

/** Limits of a table. */
export interface SourceTableOptions extends RankSourceOptions {
  /** How long a worker that fell silent may come back before its generation is given up, in ms. */
  readonly lostHoldMs: number;
  /** Most ranks of all workers together; as many lost generations and unlisted workers are remembered. */
  readonly maxSources: number;
}

interface Missed {
  readonly generation: number;
  /** The newest batch of each rank. */
  readonly ranks: Map<number, number>;
}

/** One that can be emitted later as well as now. */
type OwedEntry = readonly [model: ModelName, entry: SourceEntry];

const noEvents = new Uint8Array();
/** Most ranks of one unlisted worker that are remembered. */
const maxMissedRanks = 64;

/**
 * The sources of all workers. Fences generations: once `gone` of a generation has been emitted, or is owed because the bus is
 * away, nothing of it or of an earlier one is emitted again; unless it was only silent, and is heard again: then `back` comes first.
 */
export class SourceTable {
  readonly #options: SourceTableOptions;
  readonly #deps: SourceTableDeps;
  readonly #workers = new Map<WorkerId, WorkerSource>();
  readonly #fences: BoundedMap<WorkerId, number>;
  /** Workers that sent batches before they were listed: what they sent is asked for when they are. */
  readonly #missed: BoundedMap<WorkerId, Missed>;
  readonly #held = new Set<WorkerSource>();
  /** Workers that were given up for their silence alone, with their generation. */
  readonly #silent: BoundedMap<WorkerId, number>;
  #owed: OwedEntry[] = [];
  #ranks = 0;

  constructor(options: SourceTableOptions, deps: SourceTableDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#fences = new BoundedMap(options.maxSources);
    this.#missed = new BoundedMap(options.maxSources);
    this.#silent = new BoundedMap(options.maxSources);
  }

  /** Ranks that are followed. */
  get size(): number {
    return this.#ranks;
  }

  /** Batches that wait for recoveries. */
  get buffered(): number {
    return this.#sum((rank) => rank.buffered);
  }

  /** Ranks in a recovery. */
  get recovering(): number {
    return this.#sum(({ state }) => (state === "asking" || state === "waiting" ? 1 : 0));
  }

  /** Hot path: a batch from a worker. */
  batch(batch: KvEvents): void {
    const worker = this.#workers.get(batch.workerId);
    const source = worker?.generation === batch.generation ? worker : this.#admit(batch);
    if (source === undefined) return;
    this.#rank(source, batch.dpRank)?.batch(batch.sequence, batch.events);
  }

  /** A rank has come so far by its worker's own word. One that is not listed yet will say so again. */
  reach({ workerId, generation, dpRank, sequence }: Omit<KvEvents, "events">): void {
    const source = this.#sourceOf(workerId, generation);
    if (source !== undefined) this.#rank(source, dpRank)?.reach(sequence);
  }

  /**
   * A worker is lost. `end`: `final` if it said goodbye or has been replaced, `at once` if nobody waits for it, though it may be
   * heard again; else it may come back for a while first. Consumers may hold blocks of a worker that has not been heard here,
   * so every lost worker is told of.
   */
  lose(worker: ListedWorker, end: "held" | "at once" | "final"): void {
    if (end === "final" && this.#silent.get(worker.id) === worker.generation) {
      this.#silent.delete(worker.id);
    }
    if (this.isFenced(worker.id, worker.generation)) return;
    const known = this.#workers.get(worker.id);
    if (known !== undefined && known.generation > worker.generation) return;
    const source = known?.generation === worker.generation ? known : this.#open(worker);
    const { lostHoldMs } = this.#options;
    const mayReturn = end !== "final";
    if (end === "held" && lostHoldMs > 0) {
      this.#held.add(source);
      source.hold(this.#deps.clock.setTimer(lostHoldMs, () => this.#bury(source, mayReturn)));
    } else {
      this.#bury(source, mayReturn);
    }
  }

  /** The catalog or the life of workers has changed. */
  workersChanged(): void {
    for (const source of this.#held) {
      const listed = this.#deps.lookUp(source.id);
      if (listed?.generation !== source.generation || listed.isLost) continue;
      this.#held.delete(source);
      source.resume();
    }
    for (const [id, generation] of this.#silent) {
      const listed = this.#deps.lookUp(id);
      if (listed?.generation === generation && !listed.isLost) this.#bringBack(listed);
    }
    for (const [id, missed] of this.#missed) this.#catchUp(id, missed);
  }

  /** The ranks of a model that are followed, those of silent workers included, and how far the feed has come with each. */
  *positions(model: ModelName): Generator<KvPosition> {
    for (const { id: workerId, generation, model: served, ranks } of this.#workers.values()) {
      if (served !== model) continue;
      for (const [dpRank, { cursor }] of ranks) {
        yield { workerId, generation, dpRank, sequence: cursor };
      }
    }
  }

  /** Whether that generation of a worker is followed, be it silent. */
  follows(id: WorkerId, generation: number): boolean {
    return this.#workers.get(id)?.generation === generation;
  }

  /** Whether a generation of a worker, or a later one, has been given up. */
  isFenced(id: WorkerId, generation: number): boolean {
    return generation <= (this.#fences.get(id) ?? Number.NEGATIVE_INFINITY);
  }

  /** The bus is back: says what it owes, and checks with every worker. */
  busRestored(): void {
    const owed = this.#owed;
    this.#owed = [];
    for (const [model, entry] of owed) this.#emitOrOwe(model, entry);
    for (const worker of this.#workers.values()) {
      for (const rank of worker.ranks.values()) rank.busRestored();
    }
  }

  /** Forgets every source without a word: another aggregator speaks, or this one ends. */
  clear(): void {
    for (const worker of this.#workers.values()) worker.close();
    this.#workers.clear();
    this.#held.clear();
    this.#missed.clear();
    this.#owed = [];
    this.#ranks = 0;
  }

  /** Finds the source of a batch whose generation is not the one that is followed. */
  #admit(batch: KvEvents): WorkerSource | undefined {
    const { workerId, generation } = batch;
    const { counts, lookUp } = this.#deps;
    const known = this.#workers.get(workerId)?.generation ?? 0;
    if (generation < known || this.isFenced(workerId, generation)) {
      counts.fenced += 1;
      return undefined;
    }
    const listed = lookUp(workerId);
    if (listed === undefined || listed.generation < generation) {
      counts.unlisted += 1;
      this.#miss(batch);
      return undefined;
    }
    if (listed.generation > generation) {
      counts.fenced += 1;
      return undefined;
    }
    return this.#open(listed);
  }

  /** Begins to follow a generation; an earlier one is gone with it. */
  #open(worker: ListedWorker): WorkerSource {
    const earlier = this.#workers.get(worker.id);
    if (earlier !== undefined) this.#bury(earlier, false);
    this.#silent.delete(worker.id);
    const source = new WorkerSource(worker);
    this.#workers.set(worker.id, source);
    return source;
  }

  #rank(source: WorkerSource, dpRank: number): RankSource | undefined {
    const known = source.ranks.get(dpRank);
    if (known !== undefined) return known;
    // Ranks that a worker makes up would take the places of others.
    if (!source.has(dpRank) || this.#ranks >= this.#options.maxSources) {
      this.#deps.counts.refused += 1;
      return undefined;
    }
    const { id: workerId, generation, model } = source;
    const about = { workerId, generation, dpRank };
    const rank = new RankSource(this.#options, {
      clock: this.#deps.clock,
      counts: this.#deps.counts,
      emit: (kind, sequence, events) =>
        this.#deps.emit(model, { kind, workerId, generation, dpRank, sequence, events }),
      ask: (from, done) => this.#deps.ask({ ...about, model, from }, done),
    });
    source.ranks.set(dpRank, rank);
    this.#ranks += 1;
    if (source.isHeld) rank.hold();
    return rank;
  }

  #miss({ workerId, generation, dpRank, sequence }: KvEvents): void {
    const known = this.#missed.get(workerId);
    if (known?.generation !== generation) {
      this.#missed.set(workerId, { generation, ranks: new Map([[dpRank, sequence]]) });
    } else if (known.ranks.size < maxMissedRanks || known.ranks.has(dpRank)) {
      known.ranks.set(dpRank, Math.max(sequence, known.ranks.get(dpRank) ?? 0));
    }
  }

  /** Batches of a worker went by before it was listed. */
  #catchUp(id: WorkerId, { generation, ranks }: Missed): void {
    const listed = this.#deps.lookUp(id);
    if (listed === undefined || listed.generation < generation) return;
    this.#missed.delete(id);
    const source = this.#sourceOf(id, generation);
    if (source === undefined) return;
    for (const [dpRank, sequence] of ranks) this.#rank(source, dpRank)?.reach(sequence);
  }

  /** The source of a generation, opened if it is the one that is listed; undefined if it is another or gone. */
  #sourceOf(id: WorkerId, generation: number): WorkerSource | undefined {
    const known = this.#workers.get(id);
    if (known?.generation === generation) return known;
    const listed = this.#deps.lookUp(id);
    if (listed?.generation !== generation || this.isFenced(id, generation)) return undefined;
    return known !== undefined && known.generation > generation ? undefined : this.#open(listed);
  }

  /** A generation that was given up lives: it is on the feed again, and followers learn how far it has come. */
  #bringBack(worker: ListedWorker): void {
    const { id: workerId, generation, model } = worker;
    this.#fences.delete(workerId);
    this.#deps.counts.back += 1;
    const entry = { kind: "back", workerId, generation, dpRank: 0, sequence: 0 } as const;
    this.#emitOrOwe(model, { ...entry, events: noEvents });
    const source = this.#open(worker);
    for (const dpRank of worker.dpRanks) this.#rank(source, dpRank)?.locate();
  }

  #bury(source: WorkerSource, mayReturn: boolean): void {
    source.close();
    this.#held.delete(source);
    this.#ranks -= source.ranks.size;
    const { id: workerId, generation, model } = source;
    if (this.#workers.get(workerId) === source) this.#workers.delete(workerId);
    this.#fences.set(workerId, generation);
    if (mayReturn) this.#silent.set(workerId, generation);
    this.#deps.counts.gone += 1;
    const entry = { kind: "gone", workerId, generation, dpRank: 0, sequence: 0 } as const;
    this.#emitOrOwe(model, { ...entry, events: noEvents });
  }

  /** In order: what comes after something that is owed is owed too. */
  #emitOrOwe(model: ModelName, entry: SourceEntry): void {
    if (this.#owed.length > 0 || !this.#deps.emit(model, entry)) this.#owed.push([model, entry]);
  }

  #sum(read: (rank: RankSource) => number): number {
    let total = 0;
    for (const worker of this.#workers.values()) {
      for (const rank of worker.ranks.values()) total += read(rank);
    }
    return total;
  }
}
