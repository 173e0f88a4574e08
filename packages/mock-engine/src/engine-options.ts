import type { SchedulerOptions } from "./scheduler.ts";

/** Options of the simulated engine; what is absent has the default that the real engine's users expect. */
export interface EngineOptions {
  /** Blocks in the KV cache. Default 16,384. */
  readonly blockCount?: number | undefined;
  /** Tokens a block. Default 64. */
  readonly blockSize?: number | undefined;
  /** Sequences that run at once. Default 256. */
  readonly maxNumSeqs?: number | undefined;
  /** Tokens that one pass computes. Default 8,192. */
  readonly maxNumBatchedTokens?: number | undefined;
  /** Prompt and output tokens of a sequence. Default: what the pool can hold. */
  readonly maxModelLen?: number | undefined;
  /** Default true. */
  readonly prefixCaching?: boolean | undefined;
  /** Default true. Without, no sequence is longer than `maxNumBatchedTokens`. */
  readonly chunkedPrefill?: boolean | undefined;
  /** Default `lifo`. */
  readonly preemptionMode?: "lifo" | "fifo" | undefined;
}

export interface ResolvedEngineOptions extends SchedulerOptions {
  readonly blockCount: number;
  readonly blockSize: number;
  readonly maxModelLen: number;
  readonly prefixCaching: boolean;
}

/** Fills in defaults. Throws a RangeError for a limit below 1. */
export function resolveEngineOptions(options: EngineOptions): ResolvedEngineOptions {
  const chunkedPrefill = options.chunkedPrefill ?? true;
  const maxNumBatchedTokens = options.maxNumBatchedTokens ?? 8192;
  const maxModelLen = options.maxModelLen ?? Number.POSITIVE_INFINITY;
  const resolved: ResolvedEngineOptions = {
    blockCount: options.blockCount ?? 16_384,
    blockSize: options.blockSize ?? 64,
    maxNumSeqs: options.maxNumSeqs ?? 256,
    maxNumBatchedTokens,
    maxModelLen: chunkedPrefill ? maxModelLen : Math.min(maxModelLen, maxNumBatchedTokens),
    prefixCaching: options.prefixCaching ?? true,
    chunkedPrefill,
    preemptionMode: options.preemptionMode ?? "lifo",
  };
  for (const name of ["maxNumSeqs", "maxNumBatchedTokens", "maxModelLen"] as const) {
    if (!(resolved[name] >= 1)) throw new RangeError(`${name} must be at least 1`);
  }
  return resolved;
}
