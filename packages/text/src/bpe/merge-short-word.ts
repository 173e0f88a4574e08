// Hot: once per word that the memo does not know. Bench: bench/tokenizer.bench.ts.

import type { MergeTable } from "./merge-table.ts";

/** Above this many symbols a heap is faster than looking at all pairs for the lowest rank. */
export const mostLinearSymbols = 128;

const noRank = 0x7fffffff;

// Only within a call of mergeShortWord.
const ranks = new Int32Array(mostLinearSymbols);

/**
 * Merges `symbols[0, count)` in place, the pair of lowest rank first and the leftmost of equal ones, and returns how many
 * symbols remain. `count` is at most `mostLinearSymbols`.
 */
export function mergeShortWord(merges: MergeTable, symbols: Int32Array, count: number): number {
  let remaining = count;
  for (let at = 0; at + 1 < remaining; at += 1) {
    ranks[at] = rankOfPair(merges, symbols, at, remaining);
  }
  while (remaining > 1) {
    const at = lowestRank(remaining - 1);
    if (at < 0) {
      break;
    }
    symbols[at] = merges.idAt(merges.find(symbols[at]!, symbols[at + 1]!));
    remaining -= 1;
    symbols.copyWithin(at + 1, at + 2, remaining + 1);
    ranks.copyWithin(at, at + 1, remaining);
    ranks[at] = rankOfPair(merges, symbols, at, remaining);
    if (at > 0) {
      ranks[at - 1] = rankOfPair(merges, symbols, at - 1, remaining);
    }
  }
  return remaining;
}

function lowestRank(pairs: number): number {
  let lowest = noRank;
  let place = -1;
  for (let at = 0; at < pairs; at += 1) {
    if (ranks[at]! < lowest) {
      lowest = ranks[at]!;
      place = at;
    }
  }
  return place;
}

function rankOfPair(merges: MergeTable, symbols: Int32Array, at: number, count: number): number {
  if (at + 1 >= count) {
    return noRank;
  }
  const place = merges.find(symbols[at]!, symbols[at + 1]!);
  return place < 0 ? noRank : merges.rankAt(place);
}
