import type { Distribution } from "./distribution.ts";

/** How one worker fared. */
export interface WorkerReport {
  readonly id: string;
  readonly requests: number;
  /** Share of the time in which it computed, 0 to 1. */
  readonly busy: number;
  /** Sequences that lost their blocks and were computed again. */
  readonly preemptions: number;
}

/** A replay's result, as `--json` prints it. Times in ms unless said otherwise. */
export interface ReplayReport {
  readonly trace: string;
  readonly policy: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly workers: Readonly<Record<string, number>>;
  readonly blocks: number;
  readonly block_size: number;
  readonly speed: number;
  readonly seed: number;
  readonly event_delay_ms: number;
  readonly transfer_gbps: number;
  /** Requests that came. */
  readonly requests: number;
  /** Of these, refused because no worker could ever run them. */
  readonly refused: number;
  readonly output_tokens: number;
  /** Prompt blocks found in the cache of the worker that computed the prompt / prompt blocks. */
  readonly hit_rate: number;
  /** From arrival to the first token, queues included. */
  readonly ttft_ms: Distribution;
  /** Between two tokens of one request. */
  readonly itl_ms: Distribution;
  /** Virtual seconds from the first arrival to the last token. */
  readonly duration_s: number;
  readonly slo: { readonly ttft_ms: number | null; readonly itl_ms: number | null };
  /** Requests a second whose time to the first token and mean time between tokens are within both limits. */
  readonly goodput_rps: number;
  /** Most requests that waited in a router at a time, every worker being full. */
  readonly most_queued: number;
  readonly bounds: {
    /** The same engines and arrivals, least-loaded, with one cache of all workers' capacity. */
    readonly pooled: { readonly hit_rate: number; readonly ttft_ms_mean: number };
    /** One cache that never evicts. `reusable`: what engines can use of it. */
    readonly infinite: { readonly hit_rate: number; readonly reusable_hit_rate: number };
  };
  /** The same by the policy that looks at no cache; null if it is the policy itself. */
  readonly baseline: {
    readonly policy: string;
    readonly hit_rate: number;
    readonly ttft_ms_mean: number;
  } | null;
  readonly per_worker: readonly WorkerReport[];
  /** SHA-256 of every decision and time, in order. */
  readonly digest: string;
}
