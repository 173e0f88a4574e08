import type { Counter, Metrics } from "@baton/runtime";

/** Where a pull was refused. `descriptor`, `checksum`: by the puller; `cut`: by whichever side saw it. */
export type PullRefusedReason = "secret" | "used" | "expired" | "descriptor" | "checksum" | "cut";

/** What became of a staged KV. */
export type HandoffOutcome = "staged" | "pulled" | "released" | "expired";

/** The figures of one worker's KV transfer, shared by its ledger and its mover. */
export interface KvTransferMetrics {
  readonly handoffs: Counter;
  readonly pullsRefused: Counter;
}

/** Makes the handles: once per actor. */
export function createKvTransferMetrics(metrics: Metrics): KvTransferMetrics {
  return {
    handoffs: metrics.counter(
      "baton_kv_handoffs_total",
      "Staged KV caches by what became of them.",
      ["outcome"],
    ),
    pullsRefused: metrics.counter(
      "baton_kv_pulls_refused_total",
      "Pulls of KV that were refused or broke off, by reason.",
      ["reason"],
    ),
  };
}
