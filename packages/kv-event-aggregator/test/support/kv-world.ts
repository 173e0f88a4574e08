import {
  type KvEvent,
  type KvEvents,
  KvFeed,
  type KvHistory,
  type ModelName,
  modelName,
  packKvEvents,
  unpackKvEvents,
  type WorkerId,
  workerId,
} from "@baton/protocol";

export const model: ModelName = modelName("m");

/** The 8 bytes of a block's hash. */
export function hash(block: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setUint32(0, block, true);
  return bytes;
}

function blocksOf(hashes: Uint8Array): number[] {
  const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.byteLength);
  return Array.from({ length: hashes.byteLength / 8 }, (_, index) =>
    view.getUint32(index * 8, true),
  );
}

/** Applies events to a cache as a consumer would. */
export function applyEvents(cache: Set<number>, bytes: Uint8Array): void {
  for (const event of unpackKvEvents(bytes)) {
    if (event.kind === "cleared") cache.clear();
    else if (event.kind === "removed")
      for (const block of blocksOf(event.sequenceHashes)) cache.delete(block);
    else for (const block of blocksOf(event.sequenceHashes)) cache.add(block);
  }
}

export function stored(block: number): KvEvent {
  return { kind: "stored", parent: null, blockHashes: hash(block), sequenceHashes: hash(block) };
}

/** One generation of a worker with one rank: its real cache, and the last batches in a ring. */
export class FakeSource {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly cache = new Set<number>();
  readonly #ring: Uint8Array[] = [];
  readonly #ringSize: number;
  #sequence = 0;

  constructor(id: string, generation: number, ringSize = 4) {
    this.workerId = workerId(id);
    this.generation = generation;
    this.#ringSize = ringSize;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** Changes the cache and gives the batch that says so. */
  change(event: KvEvent): KvEvents {
    const events = packKvEvents([event]);
    applyEvents(this.cache, events);
    this.#sequence += 1;
    this.#ring.push(events);
    if (this.#ring.length > this.#ringSize) this.#ring.shift();
    const { workerId: id, generation } = this;
    return { workerId: id, generation, dpRank: 0, sequence: this.#sequence, events };
  }

  /** Answers `get-kv-events`. */
  history(from: number | null): KvHistory {
    const about = {
      workerId: this.workerId,
      generation: this.generation,
      dpRank: 0,
      lastSequence: this.#sequence,
    };
    const oldest = this.#sequence - this.#ring.length + 1;
    if (from !== null && from >= oldest) {
      return { ...about, kind: "batches", bodies: this.#ring.slice(from - oldest) };
    }
    const dump = packKvEvents([...this.cache].map(stored));
    return { ...about, kind: "dump", bodies: [dump] };
  }
}

interface Followed {
  readonly generation: number;
  readonly sequence: number;
  readonly cache: Set<number>;
}

/** Reads a feed as a router would, and says where the feed breaks its word. */
export class FeedReader {
  readonly faults: string[] = [];
  readonly workers = new Map<string, Followed>();
  readonly #gone = new Map<string, number>();
  #feedSequence = 0;

  read(bytes: Uint8Array): void {
    const entry = KvFeed.decode(bytes);
    const { workerId: id, generation, sequence, kind } = entry;
    if (entry.feedSequence !== this.#feedSequence + 1) this.faults.push("feed sequence");
    this.#feedSequence = entry.feedSequence;
    if (kind === "gone") {
      this.#gone.set(id, Math.max(generation, this.#gone.get(id) ?? 0));
      if ((this.workers.get(id)?.generation ?? 0) <= generation) this.workers.delete(id);
      return;
    }
    if (generation <= (this.#gone.get(id) ?? 0)) this.faults.push(`${id}/${generation} after gone`);
    const known = this.workers.get(id);
    if (known !== undefined && known.generation > generation) this.faults.push("old generation");
    const isSame = known?.generation === generation;
    if (isSame && kind === "batch" && sequence <= known.sequence) this.faults.push("repeated");
    const cache = isSame && kind === "batch" ? known.cache : new Set<number>();
    applyEvents(cache, entry.events);
    this.workers.set(id, { generation, sequence, cache });
  }
}
