import { type KvEvent, KvFeed, unpackKvEvents } from "@baton/protocol";

interface RankPicture {
  readonly generation: number;
  sequence: number;
  /** Whether all of it is known: from its first batch on, nothing skipped. */
  isWhole: boolean;
  readonly hashes: Set<string>;
}

/** What a follower of the KV feed knows of the workers' caches, and where the feed breaks its promises. */
export class KvPicture {
  readonly #ranks = new Map<string, RankPicture>();
  readonly #gone = new Map<string, number>();
  readonly #report: (problem: string) => void;
  #epoch = 0;
  /** The last entry of each epoch. */
  readonly #feedSequences = new Map<number, number>();

  constructor(report: (problem: string) => void) {
    this.#report = report;
  }

  /** Takes one message of the feed. */
  take(payload: Uint8Array): void {
    const entry = KvFeed.decode(payload);
    // An elder aggregator that was cut off goes on in its own epoch.
    if (entry.epoch !== this.#epoch) this.#begin(entry.epoch);
    const last = this.#feedSequences.get(entry.epoch) ?? 0;
    if (entry.feedSequence !== last + 1) {
      this.#report(`the feed goes from ${last} to ${entry.feedSequence}`);
    }
    this.#feedSequences.set(entry.epoch, entry.feedSequence);
    const key = `${entry.workerId}/${entry.dpRank}`;
    const gone = this.#gone.get(entry.workerId) ?? 0;
    if (entry.kind === "gone") {
      this.#gone.set(entry.workerId, Math.max(gone, entry.generation));
      for (const [rank, { generation }] of this.#ranks) {
        const isOfWorker = rank.startsWith(`${entry.workerId}/`);
        if (isOfWorker && generation <= entry.generation) this.#ranks.delete(rank);
      }
      return;
    }
    if (entry.kind === "back") {
      if (entry.generation < gone) {
        this.#report(`${entry.workerId} is back as ${entry.generation}, and ${gone} is gone`);
      }
      this.#gone.set(entry.workerId, entry.generation - 1);
      return;
    }
    if (entry.generation <= gone) {
      this.#report(`a ${entry.kind} of ${key} generation ${entry.generation}, which is gone`);
      return;
    }
    if (entry.kind === "reached") this.#skip(key, entry);
    else this.#apply(key, entry);
  }

  /** The sequence hashes of all that a rank holds, as hex; null if not all is known of that generation. */
  held(workerId: string, dpRank: number, generation: number): ReadonlySet<string> | null {
    const rank = this.#ranks.get(`${workerId}/${dpRank}`);
    return rank?.generation === generation && rank.isWhole ? rank.hashes : null;
  }

  /** The workers that it knows something of. */
  known(): { readonly workerId: string; readonly generation: number }[] {
    return [...this.#ranks].map(([key, { generation }]) => ({
      workerId: key.slice(0, key.lastIndexOf("/")),
      generation,
    }));
  }

  #begin(epoch: number): void {
    this.#epoch = epoch;
    this.#ranks.clear();
    this.#gone.clear();
  }

  /** What led there is not on the feed. */
  #skip(key: string, { generation, sequence }: KvFeed): void {
    const isKnown = this.#ranks.get(key)?.generation === generation;
    const isWhole = sequence === 0 && !isKnown;
    this.#ranks.set(key, { generation, sequence, isWhole, hashes: new Set() });
  }

  #apply(key: string, { generation, sequence, events }: KvFeed): void {
    let rank = this.#ranks.get(key);
    if (rank === undefined || rank.generation !== generation) {
      const isWhole = sequence === 1;
      rank = { generation, sequence: sequence - 1, isWhole, hashes: new Set() };
      this.#ranks.set(key, rank);
    }
    if (sequence <= rank.sequence) {
      this.#report(`${key} goes from batch ${rank.sequence} to ${sequence}`);
    }
    if (sequence !== rank.sequence + 1) rank.isWhole = false;
    rank.sequence = sequence;
    for (const event of unpackKvEvents(events)) applyEvent(rank.hashes, event);
  }
}

/** The sequence hashes that a cache holds after these changes to an empty one, as hex. */
export function hashesAfter(events: readonly KvEvent[]): Set<string> {
  const hashes = new Set<string>();
  for (const event of events) applyEvent(hashes, event);
  return hashes;
}

function applyEvent(hashes: Set<string>, event: KvEvent): void {
  if (event.kind === "cleared") hashes.clear();
  else if (event.kind === "stored")
    for (const hash of eachHash(event.sequenceHashes)) hashes.add(hash);
  else for (const hash of eachHash(event.sequenceHashes)) hashes.delete(hash);
}

/** Each hash of a run, as hex. */
export function* eachHash(bytes: Uint8Array): Generator<string> {
  for (let at = 0; at < bytes.length; at += 8) {
    yield Buffer.from(bytes.buffer, bytes.byteOffset + at, 8).toString("hex");
  }
}
