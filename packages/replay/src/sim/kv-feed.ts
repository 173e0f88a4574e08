import type { RankSlot, RoutingCore } from "@baton/kv-router";
import type { KvEvent } from "@baton/mock-engine";
import { replayGeneration } from "./replay-generation.ts";
import type { ReplayWorker } from "./replay-worker.ts";
import { Happening, type VirtualTime } from "./virtual-time.ts";

const allBlocks = Number.POSITIVE_INFINITY;

/** Brings what engines tell of their blocks into a router's index, in order, after a delay. */
export class KvFeed {
  readonly #core: RoutingCore;
  readonly #time: VirtualTime;
  readonly #delayMs: number;

  constructor(delayMs: number, deps: { readonly core: RoutingCore; readonly time: VirtualTime }) {
    this.#core = deps.core;
    this.#time = deps.time;
    this.#delayMs = delayMs;
  }

  /** Hears what became of a worker's blocks. */
  tell(worker: ReplayWorker, events: readonly KvEvent[]): void {
    if (events.length === 0 || this.#core.index === null) return;
    if (this.#delayMs <= 0) {
      this.#apply(worker, events);
      return;
    }
    const arrival = new Happening(() => this.#apply(worker, events));
    this.#time.plan(this.#time.nowMs + this.#delayMs, arrival);
  }

  #apply(worker: ReplayWorker, events: readonly KvEvent[]): void {
    const { index, indexSlots } = this.#core;
    if (index === null) return;
    const rank = indexSlots.open({
      workerId: worker.id,
      generation: replayGeneration,
      dpRank: 0,
    });
    for (const event of events) applyEvent(index, rank, event);
  }
}

function applyEvent(
  index: NonNullable<RoutingCore["index"]>,
  rank: RankSlot,
  event: KvEvent,
): void {
  switch (event.kind) {
    case "stored": {
      const stored = index.store(rank, "device", event.parent ?? null, event.sequenceHashes);
      if (stored === "orphan") throw new Error("an engine told of a block before its parent");
      return;
    }
    case "removed":
      index.remove(rank, "device", event.sequenceHashes);
      return;
    case "cleared":
      index.clearRank(rank).step(allBlocks);
  }
}
