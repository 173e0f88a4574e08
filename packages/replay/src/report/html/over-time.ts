import type { RequestOutcome } from "../../sim/measurements.ts";

type Points = (readonly [seconds: number, value: number])[];

/** The middle of each stretch of time in which requests came, with what they come to; stretches without any are left out. */
export function overTime(
  outcomes: readonly RequestOutcome[],
  count: number,
  measure: (outcomes: readonly RequestOutcome[]) => number,
): Points {
  const last = outcomes.reduce((latest, { arrivedMs }) => Math.max(latest, arrivedMs), 0);
  const widthMs = last > 0 ? last / count : 1;
  const bins: RequestOutcome[][] = Array.from({ length: count }, () => []);
  for (const outcome of outcomes) {
    bins[Math.min(count - 1, Math.floor(outcome.arrivedMs / widthMs))]?.push(outcome);
  }
  return bins.flatMap((bin, index) =>
    bin.length === 0 ? [] : [[((index + 0.5) * widthMs) / 1_000, measure(bin)] as const],
  );
}

/** Mean time to the first token, ms. */
export function meanTtft(outcomes: readonly RequestOutcome[]): number {
  return outcomes.reduce((sum, { ttftMs }) => sum + ttftMs, 0) / Math.max(1, outcomes.length);
}

/** Blocks found / blocks asked. */
export function hitShare(outcomes: readonly RequestOutcome[]): number {
  let asked = 0;
  let found = 0;
  for (const { blocksAsked, blocksFound } of outcomes) {
    asked += blocksAsked;
    found += blocksFound;
  }
  return asked === 0 ? 0 : found / asked;
}

/** Share of values that are not above each of about `count` of them, in rising order. */
export function cumulativeShares(values: Float64Array, count: number): Points {
  const sorted = values.slice().sort();
  const points: Points = [];
  const step = Math.max(1, Math.floor(sorted.length / count));
  for (let at = 0; at < sorted.length; at += step) {
    points.push([sorted[at] ?? 0, (at + 1) / sorted.length]);
  }
  if (sorted.length > 0) points.push([sorted[sorted.length - 1] ?? 0, 1]);
  return points;
}

/** Times in narrow bins as shares of `count` wide ones, 0 to 1. */
export function sharesOver(
  bins: readonly number[],
  options: { readonly binMs: number; readonly durationMs: number; readonly count: number },
): number[] {
  const { binMs, durationMs, count } = options;
  const widthMs = Math.max(durationMs / count, Number.MIN_VALUE);
  const sums = new Array<number>(count).fill(0);
  for (const [index, ms] of bins.entries()) {
    const wide = Math.min(count - 1, Math.floor((index * binMs) / widthMs));
    sums[wide] = (sums[wide] ?? 0) + ms;
  }
  return sums.map((ms) => Math.min(1, ms / widthMs));
}
