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

  #run(event: Exclude<KvEvent, { kind: "cleared" }>, room: number, target: EventTarget): number {
    const hashes = event.sequenceHashes;
    const all = hashes.byteLength / hashBytes;
    const from = this.#done;
    const to = Math.min(all, from + room);
    const isWhole = from === 0 && to === all;
    const part = isWhole ? hashes : hashes.subarray(from * hashBytes, to * hashBytes);
    const tier = event.tier ?? "device";
    if (event.kind === "removed") {
      target.remove(tier, part);
    } else {
      const parent =
        from === 0 ? event.parent : hashes.subarray((from - 1) * hashBytes, from * hashBytes);
      const stored = all === 0 ? "stored" : target.store(tier, parent, part);
      if (stored !== "stored") {
        // Whatever follows in the run is a child of what was left out.
        if (stored === "orphan") target.orphaned(all - from);
        else target.dropped();
        this.#next();
        return to - from;
      }
    }
    this.#done = to;
    if (to === all) this.#next();
    return Math.max(1, to - from);
  }

  #next(): void {
    this.#at += 1;
    this.#done = 0;
  }
}
