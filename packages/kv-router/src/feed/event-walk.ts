// Hot path: once per batch of a worker. Budget 1 µs a block, the index included. Bench: bench/feed/feed-applier.bench.ts
import type { KvEvent } from "@baton/protocol";
import type { StorageTier, Stored } from "../prefix-index/prefix-index.ts";

/** Where events go. */
export interface EventTarget {
  store(tier: StorageTier, parent: Uint8Array | null, sequenceHashes: Uint8Array): Stored;
  remove(tier: StorageTier, sequenceHashes: Uint8Array): void;
  clear(): void;
  /** Blocks whose parent is not there: they were left out. */
  orphaned(blocks: number): void;
  /** The index has no room, or has given up what is before: it stored nothing. */
  dropped(): void;
}

type BlockEvent = Exclude<KvEvent, { kind: "cleared" }>;

const hashBytes = 8;

/** Applies the events of one body, so many blocks at a time: a run is cut where a step ends. */
export class EventWalk {
  readonly #events: readonly KvEvent[];
  #at = 0;
  /** Blocks of the current event that are done. */
  #done = 0;

  constructor(events: readonly KvEvent[]) {
    this.#events = events;
  }

  /** Whether all is applied. */
  get isDone(): boolean {
    return this.#at >= this.#events.length;
  }

  /** Applies at most `maxBlocks` blocks (1 or more). Returns how many steps of a block are left of that. */
  step(maxBlocks: number, target: EventTarget): number {
    let room = maxBlocks;
    while (room > 0 && this.#at < this.#events.length) {
      const event = this.#events[this.#at]!;
      if (event.kind === "cleared") {
        target.clear();
        this.#next();
        room -= 1;
      } else {
        room -= this.#run(event, room, target);
      }
    }
    return room;
  }

  /** Applies what fits of a run. Returns its blocks. */
  #run(event: BlockEvent, room: number, target: EventTarget): number {
    const hashes = event.sequenceHashes;
    const all = hashes.byteLength / hashBytes;
    const from = this.#done;
    const to = Math.min(all, from + room);
    const isWhole = from === 0 && to === all;
    const part = isWhole ? hashes : hashes.subarray(from * hashBytes, to * hashBytes);
    if (event.kind === "removed") target.remove(event.tier ?? "device", part);
    // Whatever follows in the run is a child of what was left out.
    const isCut = event.kind === "stored" && all > 0 && !store(event, part, from, target);
    this.#done = to;
    if (isCut || to === all) this.#next();
    return Math.max(1, to - from);
  }

  #next(): void {
    this.#at += 1;
    this.#done = 0;
  }
}

/** Stores a part of a run, from block `from` on. False if it is left out, and what follows with it. */
function store(
  { parent, sequenceHashes, tier = "device" }: Extract<KvEvent, { kind: "stored" }>,
  part: Uint8Array,
  from: number,
  target: EventTarget,
): boolean {
  const before =
    from === 0 ? parent : sequenceHashes.subarray((from - 1) * hashBytes, from * hashBytes);
  const outcome = target.store(tier, before, part);
  if (outcome === "dropped") target.dropped();
  if (outcome === "orphan") target.orphaned(sequenceHashes.byteLength / hashBytes - from);
  return outcome === "stored";
}
