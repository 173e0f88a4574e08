import { randomIndex } from "./random-index.ts";
import { requestsScorer } from "./requests-scorer.ts";
import type { Choice, SelectionPolicy } from "./selection-policy.ts";
import type { WorkerCandidate } from "./worker-selector.ts";

/** Takes the candidate with the fewest requests in flight, then the smallest share of KV blocks in use, then any. */
export const leastLoadedPolicy: SelectionPolicy = {
  type: "least-loaded",
  usesCacheData: false,
  scorers: [
    {
      ...requestsScorer,
      terms: (candidate) => ({
        requests_in_flight: candidate.requestsInFlight,
        used_block_share: usedShare(candidate),
      }),
    },
  ],
  picker: { pick: pickLeastLoaded },
};

function pickLeastLoaded({ eligible }: Choice, costs: Float64Array, random: number): number {
  let least = Number.POSITIVE_INFINITY;
  let leastShare = Number.POSITIVE_INFINITY;
  let ties: number[] = [];
  for (let index = 0; index < eligible.length; index++) {
    const cost = costs[index]!;
    if (cost > least) continue;
    const share = usedShare(eligible[index]!);
    if (cost < least || share < leastShare) {
      least = cost;
      leastShare = share;
      ties = [index];
    } else if (share === leastShare) {
      ties.push(index);
    }
  }
  return ties[randomIndex(ties.length, random)]!;
}

/** 0…1. Unknown counts as full: it is not idle. */
function usedShare({ activeBlocks, totalBlocks }: WorkerCandidate): number {
  if (activeBlocks === null || totalBlocks === null || totalBlocks <= 0) return 1;
  return Math.min(1, activeBlocks / totalBlocks);
}
