import type { RouterMode } from "@baton/kv-router";
import type { PoolShape } from "./sim/pool-shape.ts";

/** How requests may be routed in a replay: any way that does not need a client's pin. */
export type ReplayPolicy = Exclude<RouterMode, "direct">;

/** What is replayed, and how. */
export interface ReplayOptions {
  readonly policy: ReplayPolicy;
  /** Of the policy, by name; what is absent has its default. */
  readonly parameters: Readonly<Record<string, number>>;
  readonly shape: PoolShape;
  /** KV blocks of each worker. */
  readonly blocks: number;
  /** Tokens a block. */
  readonly blockSize: number;
  /** Tokens an id of the trace stands for. */
  readonly traceBlockSize: number;
  /** Divides the trace's times. */
  readonly speed: number;
  /** Only the first so many requests; null for all. */
  readonly limit: number | null;
  readonly seed: number;
  /** How long KV events are on their way to the router, virtual ms. */
  readonly eventDelayMs: number;
  /** Speed of a handoff between workers, 10⁹ bytes a second; 0 for no delay. */
  readonly transferGbps: number;
  /** Longest time to the first token, ms; null for any. */
  readonly sloTtftMs: number | null;
  /** Longest mean time between tokens, ms; null for any. */
  readonly sloItlMs: number | null;
}
