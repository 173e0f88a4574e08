/** What a set of times comes to; all 0 if there are none. */
export interface Distribution {
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Mean and percentiles. Percentile p is the least value that p per cent of the values are not above. */
export function distributionOf(values: Float64Array): Distribution {
  if (values.length === 0) return { mean: 0, p50: 0, p95: 0, p99: 0 };
  const sorted = values.slice().sort();
  let sum = 0;
  for (const value of sorted) sum += value;
  return {
    mean: sum / sorted.length,
    p50: percentileOf(sorted, 50),
    p95: percentileOf(sorted, 95),
    p99: percentileOf(sorted, 99),
  };
}

/** Percentile `p`, 0 to 100, of values in rising order. */
export function percentileOf(sorted: Float64Array, p: number): number {
  const rank = Math.ceil((sorted.length * p) / 100);
  return sorted[Math.max(0, rank - 1)] ?? 0;
}
