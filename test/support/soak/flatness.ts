/** Figures of one actor, by name, at some number of requests. */
export interface Sample {
  readonly requests: number;
  readonly figures: Readonly<Record<string, number>>;
}

/** How much a figure may grow from the first third of a run to its end. */
export interface Bound {
  readonly figure: string;
  /** In the figure's unit. */
  readonly most: number;
  /** As a share of the figure after the first third; the larger of both counts. */
  readonly share?: number;
}

/** What became of one figure. */
export interface Growth {
  readonly figure: string;
  /** The first that counts. */
  readonly early: number;
  readonly late: number;
  /** What the slope makes of all requests that count. */
  readonly grown: number;
  readonly most: number;
  readonly isFlat: boolean;
}

const leastSamples = 4;

/**
 * Judges by the slope over what comes after the first third of all requests, for until then caches fill and code is
 * compiled. The slope is the middle one of those of all pairs of samples, which no single peak moves.
 */
export function growthOf(samples: readonly Sample[], bounds: readonly Bound[]): readonly Growth[] {
  const total = samples.at(-1)?.requests ?? 0;
  const warm = samples.filter(({ requests }) => requests >= total / 3);
  const [first, last] = [warm[0], warm.at(-1)];
  if (warm.length < leastSamples || first === undefined || last === undefined) {
    throw new Error(`${warm.length} samples say nothing of growth`);
  }
  return bounds.map(({ figure, most, share = 0 }) => {
    const early = first.figures[figure] ?? 0;
    const grown = slopeOf(warm, figure) * (last.requests - first.requests);
    const allowed = Math.max(most, early * share);
    const late = last.figures[figure] ?? 0;
    return { figure, early, late, grown, most: allowed, isFlat: grown <= allowed };
  });
}

/** By how much a figure grows with a request. */
function slopeOf(samples: readonly Sample[], figure: string): number {
  const slopes = samples.flatMap((from, index) =>
    samples.slice(index + 1).map((to) => {
      const grown = (to.figures[figure] ?? 0) - (from.figures[figure] ?? 0);
      return grown / (to.requests - from.requests);
    }),
  );
  const sorted = slopes.sort((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
}
