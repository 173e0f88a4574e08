import type { KvFeedKind } from "@baton/protocol";
import type { Counter, Metrics } from "@baton/runtime";
import type { HistoryDesk } from "./history-desk.ts";
import { makeTableCounts, type SourceTable, type TableCounts } from "./source/source-table.ts";

/** The figures of a KvEventAggregator. */
export interface AggregatorMetrics {
  readonly undecodable: Counter;
  readonly positions: Counter;
  readonly histories: Counter;
  /** Adds what sources and feeds have counted since the last call: the hot path counts in plain numbers. */
  syncCounts(): void;
}

const prefix = "baton_kv_event_aggregator";

/** What became of batches that were not relayed as they came, and of recoveries. */
const troubles: Readonly<Record<keyof TableCounts, string>> = {
  repeats: "repeated",
  gaps: "gap_found",
  recovered: "gap_recovered",
  failedAsks: "ask_failed",
  holes: "batch_missing",
  overflows: "buffer_overflow",
  fenced: "old_generation",
  unlisted: "worker_unlisted",
  refused: "too_many_sources",
  gone: "generation_gone",
  back: "generation_back",
};

const feedKinds = ["batch", "reached", "gone", "back"] as const;

/** Declares the figures of a KvEventAggregator. */
export function aggregatorMetrics(
  metrics: Metrics,
  counts: TableCounts,
  sent: Readonly<Record<KvFeedKind, number>>,
  table: SourceTable,
  desk: HistoryDesk,
): AggregatorMetrics {
  const events = metrics.counter(
    `${prefix}_source_events_total`,
    "What happened to sources and their batches, beside batches relayed in order.",
    ["event"],
  );
  metrics.gauge(`${prefix}_sources`, "Ranks that are followed.", () => table.size);
  metrics.gauge(
    `${prefix}_batches_buffered`,
    "Batches that wait for a recovery.",
    () => table.buffered,
  );
  metrics.gauge(
    `${prefix}_recoveries_in_flight`,
    "Ranks whose worker is being asked.",
    () => table.recovering,
  );
  const entries = metrics.counter(`${prefix}_feed_entries_total`, "Entries of feeds, by kind.", [
    "kind",
  ]);
  const seen = makeTableCounts();
  const seenSent = { batch: 0, reached: 0, gone: 0, back: 0 };
  let seenAsked = 0;
  const asks = metrics.counter(
    `${prefix}_worker_asks_total`,
    "Asks of workers for batches and dumps, for itself and for routers.",
  );
  metrics.gauge(`${prefix}_dump_bytes`, "Bytes of workers' dumps that are kept.", () => desk.bytes);
  return {
    undecodable: metrics.counter(
      `${prefix}_undecodable_total`,
      "Messages that could not be decoded.",
    ),
    positions: metrics.counter(`${prefix}_positions_total`, "Answers that list what is on a feed."),
    histories: metrics.counter(
      `${prefix}_histories_total`,
      "Answers to routers that lack something of a rank: batches, dump, none (not on the feed), failed, or refused.",
      ["outcome"],
    ),
    syncCounts: () => {
      if (desk.asked > seenAsked) asks.add(desk.asked - seenAsked);
      seenAsked = desk.asked;
      for (const kind of feedKinds) {
        if (sent[kind] > seenSent[kind]) entries.add(sent[kind] - seenSent[kind], { kind });
        seenSent[kind] = sent[kind];
      }
      for (const key of Object.keys(troubles) as (keyof TableCounts)[]) {
        const amount = counts[key] - seen[key];
        if (amount > 0) events.add(amount, { event: troubles[key] });
        seen[key] = counts[key];
      }
    },
  };
}
