/** Figures of one actor, by name, at some number of requests. */
export interface Sample {
  readonly requests: number;
  readonly figures: Readonly<Record<string, number>>;
}

/** How much a figure may grow between the beginning and the end of a run. */
export interface Bound {
  readonly figure: string;
  /** In the figure's unit. */
  readonly most: number;
  /** As a share of the figure at the beginning; the larger of both counts. */
  readonly share?: number;
}

/** What became of one figure. */
export interface Growth {
  readonly figure: string;
  readonly early: number;
  readonly late: number;
  readonly grown: number;
  readonly most: number;
  readonly isFlat: boolean;
}

/**
 * Holds the middle one of the last three samples against the middle one of three early ones. The first quarter is left
 * out: there caches fill and code is compiled. Needs four samples.
 */
export function growthOf(samples: readonly Sample[], bounds: readonly Bound[]): readonly Growth[] {
  if (samples.length < 4) throw new Error(`${samples.length} samples say nothing of growth`);
  const warm = samples.slice(Math.ceil(samples.length / 4));
  return bounds.map(({ figure, most, share = 0 }) => {
    const values = warm.map(({ figures }) => figures[figure] ?? 0);
    const early = middle(values.slice(0, 3));
    const late = middle(values.slice(-3));
    const allowed = Math.max(most, early * share);
    const grown = late - early;
    return { figure, early, late, grown, most: allowed, isFlat: grown <= allowed };
  });
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}
