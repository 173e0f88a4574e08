import type { Arrival } from "../trace/plan-arrivals.ts";

/** What a cache that all share and that never evicts would find, request by request in order of arrival. */
export interface InfiniteCache {
  /** Blocks found / blocks asked, partial last ones included: what is known of a trace by its ids alone. */
  readonly hitRate: number;
  /** The same of what an engine can reuse: full blocks, and never the one with a prompt's last token. */
  readonly reusableHitRate: number;
}

/** Counts what a cache without end would find. An id that was seen before was seen with all its blocks. */
export function infiniteCache(
  arrivals: readonly Arrival[],
  sizes: { readonly blockSize: number; readonly traceBlockSize: number },
): InfiniteCache {
  const { blockSize, traceBlockSize } = sizes;
  const seen = new Set<number>();
  let asked = 0;
  let found = 0;
  let reusable = 0;
  for (const { row } of arrivals) {
    const ids = row.hashIds ?? [];
    let known = 0;
    while (known < ids.length && seen.has(ids[known] ?? -1)) known++;
    for (let at = known; at < ids.length; at++) seen.add(ids[at] ?? -1);
    const blocks = Math.ceil(row.promptTokens / blockSize);
    const knownTokens = known * traceBlockSize;
    const hit = knownTokens >= row.promptTokens ? blocks : Math.floor(knownTokens / blockSize);
    asked += blocks;
    found += hit;
    reusable += Math.min(hit, Math.floor((row.promptTokens - 1) / blockSize));
  }
  return { hitRate: share(found, asked), reusableHitRate: share(reusable, asked) };
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
