/** The prompts, or parts of them, that one pass computes. */
export interface PrefillBatch {
  /** How many sequences. */
  readonly count: number;
  /** Sum over them of the tokens that are computed when the pass ends, cached ones included. */
  readonly contextTokens: number;
  /** Sum over them of the tokens that were computed or cached before the pass. */
  readonly prefixTokens: number;
  /** The largest part of a prompt's uncached tokens that the pass computes, in 0…1. Chunks of one prompt add up to 1. */
  readonly largestShare: number;
}

/** The sequences that get one more token from a pass. */
export interface DecodeBatch {
  readonly count: number;
  /** Sum of their lengths; a block that two of them share counts twice. */
  readonly contextTokens: number;
  /** Tokens that the whole pool can hold. */
  readonly capacityTokens: number;
}

/** How long a pass takes, in ms. Asked only for batches that are not empty. */
export interface TimingModel {
  prefillMs(batch: PrefillBatch): number;
  decodeMs(batch: DecodeBatch): number;
}

/** Tokens that the pass is charged for: count times the difference of the integer means. */
export function chargedPrefillTokens(batch: PrefillBatch): number {
  const meanLength = Math.floor(batch.contextTokens / batch.count);
  const meanPrefix = Math.floor(batch.prefixTokens / batch.count);
  return batch.count * (meanLength - meanPrefix);
}

/** Time to compute `n` prompt tokens at speed-up 1. */
export function polynomialPrefillMs(n: number): number {
  if (n <= 0) return 0;
  return 4.209989e-7 * n * n + 1.518344e-2 * n + 16.50142;
}

/** Time of a decode step at speed-up 1 with a share `u` of the pool's tokens in context; at least 1 ms. */
export function polynomialDecodeMs(u: number): number {
  return Math.max(1, -25.74 * u * u + 54.01 * u + 5.74);
}

export interface SpeedUp {
  /** Divides all times. 0 or less: times are not scaled. Default 1. */
  readonly speedup?: number | undefined;
  /** Divides decode times further. 0 or less: not scaled. Default 1. */
  readonly decodeSpeedup?: number | undefined;
}

/** Times that grow with prompt and context as those of a real accelerator do. */
export function polynomialTiming(options: SpeedUp = {}): TimingModel {
  const speedup = positiveOr1(options.speedup);
  const decodeSpeedup = speedup * positiveOr1(options.decodeSpeedup);
  return {
    prefillMs: (batch) => polynomialPrefillMs(chargedPrefillTokens(batch)) / speedup,
    decodeMs: (batch) =>
      polynomialDecodeMs(Math.min(1, batch.contextTokens / batch.capacityTokens)) / decodeSpeedup,
  };
}

export interface FixedTimes {
  /** Per prompt; its chunks share it, and prompts in one pass run side by side. */
  readonly prefillMs: number;
  /** Per step. */
  readonly decodeMs: number;
}

/** Constant times. With 0 and 0 a pass takes no time. */
export function fixedTiming(times: FixedTimes): TimingModel {
  return {
    prefillMs: (batch) => times.prefillMs * batch.largestShare,
    decodeMs: () => times.decodeMs,
  };
}

function positiveOr1(ratio: number | undefined): number {
  return ratio === undefined || ratio <= 0 ? 1 : ratio;
}
