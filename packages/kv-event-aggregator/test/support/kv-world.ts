import {
  type KvEvent,
  type KvEvents,
  type KvHistory,
  type KvTier,
  type ModelName,
  modelName,
  packKvEvents,
  unpackKvEvents,
  type WorkerId,
  workerId,
} from "@baton/protocol";

export const model: ModelName = modelName("m");

export const tiers: readonly KvTier[] = ["device", "host", "disk"];

const hashes = new Map<number, Uint8Array>();

/** The 8 bytes of a block's hash. Not to be written to. */
export function hash(block: number): Uint8Array {
  const known = hashes.get(block);
  if (known !== undefined) return known;
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setUint32(0, block, true);
  hashes.set(block, bytes);
  return bytes;
}

/** The blocks that hashes are of. */
export function blocksOf(hashes: Uint8Array): number[] {
  const view = new DataView(hashes.buffer, hashes.byteOffset, hashes.byteLength);
  return Array.from({ length: hashes.byteLength / 8 }, (_, index) =>
    view.getUint32(index * 8, true),
  );
}

/** A block of its own, without a parent. */
export function stored(block: number): KvEvent {
  return { kind: "stored", parent: null, blockHashes: hash(block), sequenceHashes: hash(block) };
}

const blocksPerTier = 1_000;

/** A block on a tier as one number: of the device the block's own. */
function placeOf(block: number, tier: KvTier = "device"): number {
  return block + tiers.indexOf(tier) * blocksPerTier;
}

/** One generation of a worker with one rank: its real cache, and the last batches in a ring. */
export class FakeSource {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly #held = new Map<number, KvEvent>();
  readonly #ring: Uint8Array[] = [];
  readonly #ringSize: number;
  readonly #pageEvents: number;
  #dump: { readonly sequence: number; readonly events: readonly KvEvent[] } | null = null;
  #sequence = 0;

  constructor(id: string, generation: number, ringSize = 4, pageEvents = 100) {
    this.workerId = workerId(id);
    this.generation = generation;
    this.#ringSize = ringSize;
    this.#pageEvents = pageEvents;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** Blocks of the device by number; those of the host are 1,000 more, of the disk 2,000. */
  get cache(): Set<number> {
    return new Set(this.#held.keys());
  }

  holds(block: number, tier?: KvTier): boolean {
    return this.#held.has(placeOf(block, tier));
  }

  /** Changes the cache and gives the batch that says so. */
  change(...events: readonly KvEvent[]): KvEvents {
    const body = packKvEvents(events);
    for (const event of events) this.#apply(event);
    this.#sequence += 1;
    this.#ring.push(body);
    if (this.#ring.length > this.#ringSize) this.#ring.shift();
    const { workerId: id, generation } = this;
    return { workerId: id, generation, dpRank: 0, sequence: this.#sequence, events: body };
  }

  /** Answers `get-kv-events`. */
  history(from: number | null, dump: number | null = null, page = 0): KvHistory {
    const { workerId: id, generation } = this;
    const about = { workerId: id, generation, dpRank: 0 };
    const oldest = this.#sequence - this.#ring.length + 1;
    if (from !== null && from >= oldest) {
      const bodies = this.#ring.slice(from - oldest);
      const part = bodies.slice(0, this.#pageEvents);
      const lastSequence = from + part.length - 1;
      const next = part.length < bodies.length ? lastSequence + 1 : null;
      return { ...about, lastSequence, kind: "batches", bodies: part, page: 0, next };
    }
    const isKept = dump !== null && this.#dump?.sequence === dump;
    this.#dump = isKept ? this.#dump : { sequence: this.#sequence, events: this.#parentsFirst() };
    const { sequence, events } = this.#dump ?? { sequence: 0, events: [] };
    const at = isKept ? page : 0;
    const end = (at + 1) * this.#pageEvents;
    return {
      ...about,
      lastSequence: sequence,
      kind: "dump",
      bodies: [packKvEvents(events.slice(at * this.#pageEvents, end))],
      page: at,
      next: end < events.length ? at + 1 : null,
    };
  }

  #parentsFirst(): KvEvent[] {
    const places = [...this.#held].map(([place, event]) => ({ place, event }));
    places.sort((a, b) => (a.place % blocksPerTier) - (b.place % blocksPerTier));
    return places.map(({ event }) => event);
  }

  #apply(event: KvEvent): void {
    if (event.kind === "cleared") {
      this.#held.clear();
      return;
    }
    let parent = event.kind === "stored" ? event.parent : null;
    for (const block of blocksOf(event.sequenceHashes)) {
      const place = placeOf(block, event.tier);
      if (event.kind === "removed") this.#held.delete(place);
      else this.#held.set(place, { ...event, parent, ...sameHash(block) });
      parent = hash(block);
    }
  }
}

function sameHash(block: number) {
  return { blockHashes: hash(block), sequenceHashes: hash(block) };
}

/** The places in a body of stored events, as `FakeSource.cache` has them. */
export function placesIn(bodies: readonly Uint8Array[]): Set<number> {
  const places = new Set<number>();
  for (const event of bodies.flatMap((body) => unpackKvEvents(body))) {
    if (event.kind === "cleared") continue;
    for (const block of blocksOf(event.sequenceHashes)) places.add(placeOf(block, event.tier));
  }
  return places;
}
