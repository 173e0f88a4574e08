import type { Counter, Metrics } from "@baton/runtime";

/** A worker's counters. */
export interface WorkerCounters {
  readonly prefillsStarted: Counter;
  readonly decodesStarted: Counter;
  readonly blocksMoved: Counter;
  readonly blocksReused: Counter;
}

/** What a worker's gauges read. */
export interface WorkerGauges {
  readonly sequences: () => number;
  readonly blocksUsed: () => number;
  readonly blocksCached: () => number;
  readonly handoffsHeld: () => number;
}

/** Makes the handles and shows the gauges: once per actor. */
export function createWorkerMetrics(metrics: Metrics, gauges: WorkerGauges): WorkerCounters {
  metrics.gauge("baton_worker_sequences", "Requests that run or are staged.", gauges.sequences);
  metrics.gauge(
    "baton_worker_blocks_used",
    "KV blocks referenced by a sequence or a staged handoff.",
    gauges.blocksUsed,
  );
  metrics.gauge(
    "baton_worker_blocks_cached",
    "KV blocks kept for reuse that nothing references.",
    gauges.blocksCached,
  );
  metrics.gauge("baton_worker_handoffs_held", "Staged KV caches.", gauges.handoffsHeld);
  return {
    prefillsStarted: metrics.counter(
      "baton_worker_prefills_started_total",
      "Prompts handed to the engine to be computed.",
    ),
    decodesStarted: metrics.counter(
      "baton_worker_decodes_started_total",
      "Generations handed to the engine.",
    ),
    blocksMoved: metrics.counter(
      "baton_kv_blocks_moved_total",
      "Full KV blocks fetched from other workers.",
    ),
    blocksReused: metrics.counter(
      "baton_kv_blocks_reused_total",
      "Full KV blocks of imported prompts that were here already.",
    ),
  };
}
