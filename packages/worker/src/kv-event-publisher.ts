// Hot path: once per engine step that changes the cache. Budget 20 µs. Bench: packages/protocol/bench
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
import type { Publisher } from "./publisher.ts";

/** Batches kept per rank for followers that missed some. */
export const batchesKept = 1_024;

/** What a publisher is given. */
export interface KvEventPublisherDeps {
  readonly workerId: WorkerId;
  readonly model: ModelName;
  readonly subjects: Subjects;
  readonly publisher: Publisher;
  /** All that a rank's cache holds. */
  readonly dump: (dpRank: number) => readonly KvEvent[];
}

interface Rank {
  /** The newest batch, 0 before the first; batch `s` is in `ring[s % batchesKept]`. */
  lastSequence: number;
  readonly ring: Uint8Array[];
}

/** Numbers and sends the changes of each rank's cache, keeps the newest, and answers those who missed some. */
export class KvEventPublisher {
  readonly #deps: KvEventPublisherDeps;
  readonly #subject: string;
  readonly #ranks = new Map<number, Rank>();
  #generation: number;

  constructor(generation: number, deps: KvEventPublisherDeps) {
    this.#generation = generation;
    this.#deps = deps;
    this.#subject = deps.subjects.kvChanged(deps.model, deps.workerId);
  }

  /** Sends one batch. One that the bus does not take stays in the ring. */
  publish(dpRank: number, events: readonly KvEvent[]): void {
    if (events.length === 0) return;
    const rank = this.#rank(dpRank);
    const sequence = ++rank.lastSequence;
    const body = packKvEvents(events);
    rank.ring[sequence % batchesKept] = body;
    this.#send(dpRank, sequence, body);
  }

  /** Sends the newest batch of each rank again, after the bus was gone: whoever missed some sees the gap by it. */
  repeatNewest(): void {
    for (const [dpRank, { lastSequence, ring }] of this.#ranks) {
      const body = ring[lastSequence % batchesKept];
      if (body !== undefined) this.#send(dpRank, lastSequence, body);
    }
  }

  /** The batches from `from` on if the ring has them all, else a dump. */
  history(ask: GetKvEvents): KvHistory {
    const rank = this.#rank(ask.dpRank);
    const { lastSequence } = rank;
    const head = {
      workerId: this.#deps.workerId,
      generation: this.#generation,
      dpRank: ask.dpRank,
      lastSequence,
    };
    const from = ask.from;
    if (
      from !== null &&
      from >= 1 &&
      from > lastSequence - batchesKept &&
      from <= lastSequence + 1
    ) {
      const bodies: Uint8Array[] = [];
      for (let s = from; s <= lastSequence; s++) {
        const body = rank.ring[s % batchesKept];
        if (body !== undefined) bodies.push(body);
      }
      return { ...head, kind: "batches", bodies };
    }
    return { ...head, kind: "dump", bodies: [packKvEvents(this.#deps.dump(ask.dpRank))] };
  }

  /** Everything that was told is gone: says so, then counts anew for the next generation. */
  restart(generation: number, dpSize: number): void {
    for (let rank = 0; rank < dpSize; rank++) this.publish(rank, [{ kind: "cleared" }]);
    this.#ranks.clear();
    this.#generation = generation;
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
    const rank: Rank = { lastSequence: 0, ring: [] };
    this.#ranks.set(dpRank, rank);
    return rank;
  }
}
