import { KvFeed, type KvFeedKind } from "@baton/protocol";
import type { SourceEntry } from "./source/source-table.ts";

/** What a feed is given. */
export interface ModelFeedDeps {
  readonly epoch: number;
  /** Entries sent, by kind, of all feeds. */
  readonly sent: Record<KvFeedKind, number>;
  /** Sends bytes to whoever follows the model. False if the bus does not take them. */
  publish(bytes: Uint8Array): boolean;
}

/** One model's ordered feed: numbers what is on it, without gaps. */
export class ModelFeed {
  readonly #deps: ModelFeedDeps;
  #feedSequence = 0;

  constructor(deps: ModelFeedDeps) {
    this.#deps = deps;
  }

  /** The number of the newest entry; 0 before the first. */
  get feedSequence(): number {
    return this.#feedSequence;
  }

  /** Puts an entry on the feed. False, and no number used, if the bus does not take it. */
  emit(entry: SourceEntry): boolean {
    const feedSequence = this.#feedSequence + 1;
    const { kind, workerId, generation, dpRank, sequence, events } = entry;
    const bytes = KvFeed.encode({
      epoch: this.#deps.epoch,
      feedSequence,
      kind,
      workerId,
      generation,
      dpRank,
      sequence,
      events,
    });
    if (!this.#deps.publish(bytes)) return false;
    this.#feedSequence = feedSequence;
    this.#deps.sent[kind] += 1;
    return true;
  }
}
