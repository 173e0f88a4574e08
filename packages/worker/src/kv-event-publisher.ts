// Hot path: once per engine step that changes the cache. Budget 1 µs, and 20 µs a batch. Bench: packages/protocol/bench
import {
  type GetKvEvents,
  type KvEvent,
  KvEvents,
  type KvHistory,
  type ModelName,
  packKvEvents,
  type Subjects,
  type WorkerId,
} from "@baton/protocol";
import type { Clock, Timer } from "@baton/runtime";
import { BlockReferences } from "./block-references.ts";
import { cutIntoPages } from "./kv-dump-pages.ts";
import type { Publisher } from "./publisher.ts";

/** Batches kept per rank for followers that missed some. */
export const batchesKept = 1_024;
/** Blocks in a page of a dump: 256 KiB on the bus, and a few milliseconds to take in. */
export const pageBlocks = 16_384;
/** An answer with batches ends with the one that reaches this: 256 KiB. */
const answerBytes = 262_144;

/** What a publisher is given. */
export interface KvEventPublisherDeps {
  readonly workerId: WorkerId;
  readonly model: ModelName;
  readonly subjects: Subjects;
  readonly publisher: Publisher;
  readonly clock: Clock;
  /** Least time between two batches of one rank, ms: the changes of an engine that is faster share a batch. 0: none. */
  readonly intervalMs: number;
  /** All that a rank's cache holds. */
  readonly dump: (dpRank: number) => readonly KvEvent[];
  /** The engine may store a block on a tier that holds it already. Default false. */
  readonly storesTwice?: boolean;
}

interface Rank {
  /** The newest batch, 0 before the first; batch `s` is in `ring[s % batchesKept]`. */
  lastSequence: number;
  readonly ring: Uint8Array[];
  /** Changes that no batch holds yet. */
  pending: KvEvent[];
  /** When the last batch went. */
  sentAtMs: number;
  /** The last dump of several pages, until its last page is asked for or its batches have left the ring. */
  dump: { readonly sequence: number; readonly pages: readonly (readonly KvEvent[])[] } | null;
  /** Null for an engine that never stores twice. */
  readonly references: BlockReferences | null;
}

type Head = Pick<KvHistory, "workerId" | "generation" | "dpRank">;

/**
 * Numbers and sends the changes of each rank's cache, keeps the newest, and answers those who missed some. A batch costs at each
 * of those who hear it, however little it holds, so changes that follow each other faster than batches may go share one.
 *
 * On the bus, in batches and in dumps alike, a block of a rank is stored on a tier once and removed from it once: whoever
 * stores it several times is counted here, with `storesTwice`, and nowhere behind. That a prefix index counts too is for its other
 * writers; events of workers never raise its count above one. Our own engines hold each block once, and pay nothing for it.
 */
export class KvEventPublisher {
  readonly #deps: KvEventPublisherDeps;
  readonly #subject: string;
  readonly #ranks = new Map<number, Rank>();
  #generation: number;
  /** Set while changes wait for their time. */
  #due: Timer | null = null;

  constructor(generation: number, deps: KvEventPublisherDeps) {
    this.#generation = generation;
    this.#deps = deps;
    this.#subject = deps.subjects.kvChanged(deps.model, deps.workerId);
  }

  /** Sends a batch, or sees to it that one goes as soon as it may. One that the bus does not take stays in the ring. */
  publish(dpRank: number, events: readonly KvEvent[]): void {
    const rank = this.#rank(dpRank);
    const news = rank.references === null ? events : rank.references.filter(events);
    if (news.length === 0) return;
    rank.pending.push(...news);
    const { clock, intervalMs } = this.#deps;
    const leftMs = rank.sentAtMs + intervalMs - clock.nowMs();
    if (leftMs <= 0) this.#flush(dpRank, rank);
    else this.#due ??= clock.setTimer(Math.min(leftMs, intervalMs), () => this.flush());
  }

  /** Sends all that waits, whether it is time or not. */
  flush(): void {
    this.#due?.cancel();
    this.#due = null;
    for (const [dpRank, rank] of this.#ranks) this.#flush(dpRank, rank);
  }

  /** Sends the newest batch of each rank again, after the bus was gone: whoever missed some sees the gap by it. */
  repeatNewest(): void {
    this.flush();
    for (const [dpRank, { lastSequence, ring }] of this.#ranks) {
      const body = ring[lastSequence % batchesKept];
      if (body !== undefined) this.#send(dpRank, lastSequence, body);
    }
  }

  /** The newest batch of each rank that has sent one. */
  newest(): { readonly dpRank: number; readonly sequence: number }[] {
    return [...this.#ranks].flatMap(([dpRank, { lastSequence: sequence }]) =>
      sequence === 0 ? [] : [{ dpRank, sequence }],
    );
  }

  /**
   * The batches from `from` on if the ring has them all, so many as fit into an answer; else a page of a dump, the first of a
   * new one if the one that is meant is kept no more.
   */
  history(ask: GetKvEvents): KvHistory {
    const rank = this.#rank(ask.dpRank);
    this.#flush(ask.dpRank, rank);
    const head: Head = {
      workerId: this.#deps.workerId,
      generation: this.#generation,
      dpRank: ask.dpRank,
    };
    const { lastSequence } = rank;
    const from = ask.from;
    if (
      from !== null &&
      from >= 1 &&
      from > lastSequence - batchesKept &&
      from <= lastSequence + 1
    ) {
      return batchesFrom(head, rank, from);
    }
    return this.#dumpPage(head, rank, ask);
  }

  /** Everything that was told is gone: says so, then counts anew for the next generation. */
  restart(generation: number, dpSize: number): void {
    for (let rank = 0; rank < dpSize; rank++) this.publish(rank, [{ kind: "cleared" }]);
    this.flush();
    this.#ranks.clear();
    this.#generation = generation;
  }

  #dumpPage(head: Head, rank: Rank, ask: GetKvEvents): KvHistory {
    const kept = rank.dump;
    const isKept = kept !== null && ask.dump === kept.sequence && ask.page < kept.pages.length;
    const { sequence, pages } = isKept
      ? kept
      : { sequence: rank.lastSequence, pages: this.#newDump(head.dpRank, rank) };
    const page = isKept ? ask.page : 0;
    const next = page + 1 < pages.length ? page + 1 : null;
    rank.dump = next === null ? null : { sequence, pages };
    const bodies = [packKvEvents(pages[page] ?? [])];
    return { ...head, lastSequence: sequence, kind: "dump", bodies, page, next };
  }

  #newDump(dpRank: number, { references }: Rank): readonly (readonly KvEvent[])[] {
    const events = this.#deps.dump(dpRank);
    return cutIntoPages(
      references === null ? events : new BlockReferences().filter(events),
      pageBlocks,
    );
  }

  #flush(dpRank: number, rank: Rank): void {
    if (rank.pending.length === 0) return;
    const body = packKvEvents(rank.pending);
    rank.pending = [];
    rank.sentAtMs = this.#deps.clock.nowMs();
    const sequence = ++rank.lastSequence;
    rank.ring[sequence % batchesKept] = body;
    if (rank.dump !== null && sequence - rank.dump.sequence > batchesKept) rank.dump = null;
    this.#send(dpRank, sequence, body);
  }

  #send(dpRank: number, sequence: number, events: Uint8Array): void {
    const batch: KvEvents = {
      workerId: this.#deps.workerId,
      generation: this.#generation,
      dpRank,
      sequence,
      events,
    };
    this.#deps.publisher.publish(this.#subject, KvEvents.encode(batch));
  }

  #rank(dpRank: number): Rank {
    const known = this.#ranks.get(dpRank);
    if (known !== undefined) return known;
    const references = this.#deps.storesTwice === true ? new BlockReferences() : null;
    const rank: Rank = {
      lastSequence: 0,
      ring: [],
      pending: [],
      sentAtMs: Number.NEGATIVE_INFINITY,
      dump: null,
      references,
    };
    this.#ranks.set(dpRank, rank);
    return rank;
  }
}

function batchesFrom(head: Head, { lastSequence, ring }: Rank, from: number): KvHistory {
  const bodies: Uint8Array[] = [];
  let bytes = 0;
  let next = from;
  while (next <= lastSequence && bytes < answerBytes) {
    const body = ring[next % batchesKept];
    if (body === undefined) break;
    bodies.push(body);
    bytes += body.byteLength;
    next += 1;
  }
  return {
    ...head,
    lastSequence: next - 1,
    kind: "batches",
    bodies,
    page: 0,
    next: next <= lastSequence ? next : null,
  };
}
