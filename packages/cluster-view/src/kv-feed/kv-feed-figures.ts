import type { FeedApplier, FeedCounts, PrefixIndex } from "@baton/kv-router";
import type { ModelName, WorkerType } from "@baton/protocol";
import type { Counter, Metrics } from "@baton/runtime";

/** What is read of one follower. */
export interface KvFeedReading {
  readonly model: ModelName;
  /** Whose caches are followed. */
  readonly role: WorkerType;
  readonly index: PrefixIndex;
  readonly applier: FeedApplier;
}

const prefix = "baton_kv_feed";

/** What happened on a feed, by the word in the label `event`. */
const events: Readonly<Record<keyof FeedCounts, string>> = {
  feedGaps: "feed_gap",
  epochs: "epoch",
  staleEpochs: "stale_epoch",
  batches: "batch_applied",
  repeats: "batch_repeated",
  rankGaps: "gap_found",
  recovered: "recovered",
  failedAsks: "ask_failed",
  dumps: "dump_applied",
  resyncs: "resync",
  orphans: "block_orphaned",
  dropped: "index_full",
  malformed: "malformed",
  overflows: "buffer_overflow",
  fenced: "old_generation",
  unwanted: "worker_unwanted",
  refused: "too_many_ranks",
};

/** The figures of all followers of one actor, each with its model and the type of its workers as labels. Made once per actor. */
export class KvFeedFigures {
  readonly #followers = new Map<KvFeedReading, Partial<Record<keyof FeedCounts, number>>>();
  readonly #events: Counter;
  readonly #malformed: Counter;

  constructor(metrics: Metrics) {
    const gauge = (name: string, help: string, read: (follower: KvFeedReading) => number) =>
      metrics.gauge(
        `${prefix}_${name}`,
        help,
        () =>
          [...this.#followers.keys()].map((follower) => [
            { model: follower.model, role: follower.role },
            read(follower),
          ]),
        ["model", "role"],
      );
    gauge("blocks", "Blocks in the prefix index, each counted once.", ({ index }) => index.blocks);
    gauge("index_bytes", "Memory of the prefix index.", ({ index }) => index.bytes);
    gauge("ranks", "Ranks of workers that are followed.", ({ applier }) => applier.ranks);
    gauge("synced", "1 once what was there at the start is in.", ({ applier }) =>
      applier.synced ? 1 : 0,
    );
    gauge("batches_waiting", "Batches that wait.", ({ applier }) => applier.waiting);
    gauge("recoveries", "Ranks that are being recovered.", ({ applier }) => applier.recovering);
    this.#events = metrics.counter(`${prefix}_events_total`, "What happened on the feed.", [
      "model",
      "role",
      "event",
    ]);
    this.#malformed = metrics.counter(
      `${prefix}_malformed_messages_total`,
      "Messages of the feed and about it that could not be decoded.",
      ["model", "role"],
    );
  }

  /** Shows a follower until the returned function is called. */
  add(follower: KvFeedReading): () => void {
    this.#followers.set(follower, {});
    return () => {
      this.sync(follower);
      this.#followers.delete(follower);
    };
  }

  /** A message could not be decoded. */
  malformed({ model, role }: Pick<KvFeedReading, "model" | "role">): void {
    this.#malformed.add(1, { model, role });
  }

  /** Adds what a follower has counted since the last call: the hot path counts in plain numbers. */
  sync(follower: KvFeedReading): void {
    const seen = this.#followers.get(follower);
    if (seen === undefined) return;
    const { applier, model, role } = follower;
    for (const key of Object.keys(events) as (keyof FeedCounts)[]) {
      const amount = applier.counts[key] - (seen[key] ?? 0);
      if (amount > 0) this.#events.add(amount, { model, role, event: events[key] });
      seen[key] = applier.counts[key];
    }
  }
}
