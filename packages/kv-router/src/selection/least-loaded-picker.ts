import { type Preferences, preferenceFactor, preferencesOf } from "../topology/taints.ts";
import { type Picker, randomIndex } from "./picker.ts";
import type { CandidateCost, SelectionRequest, WorkerCandidate } from "./worker-selector.ts";

/**
 * Takes the free candidate with the fewest requests in flight, then the smallest share of KV blocks in use, then
 * any. The cost counts the request itself, so that preferred taints weigh between idle workers too.
 */
export function createLeastLoadedPicker(): Picker {
  return {
    mode: "least-loaded",
    usesPreferences: true,
    costs: (request, candidates) => {
      const preferences = preferencesOf(request.constraints);
      return candidates.map((candidate) => costOf(preferences, candidate));
    },
    pick: pickLeastLoaded,
    taken: () => undefined,
  };
}

function pickLeastLoaded(
  request: SelectionRequest,
  free: readonly WorkerCandidate[],
  random: number,
): number {
  const preferences = preferencesOf(request.constraints);
  let bestCost = Number.POSITIVE_INFINITY;
  let bestShare = Number.POSITIVE_INFINITY;
  let ties: number[] = [];
  for (let index = 0; index < free.length; index++) {
    const cost = loadCost(preferences, free[index]!);
    const share = usedShare(free[index]!);
    if (cost < bestCost || (cost === bestCost && share < bestShare)) {
      bestCost = cost;
      bestShare = share;
      ties = [index];
    } else if (cost === bestCost && share === bestShare) {
      ties.push(index);
    }
  }
  return ties[randomIndex(ties.length, random)]!;
}

function costOf(preferences: Preferences, candidate: WorkerCandidate): CandidateCost {
  return {
    cost: loadCost(preferences, candidate),
    terms: {
      requests_in_flight: candidate.requestsInFlight,
      used_block_share: usedShare(candidate),
      preference_factor: preferenceFactor(candidate.taints, preferences),
    },
  };
}

function loadCost(preferences: Preferences, candidate: WorkerCandidate): number {
  return (candidate.requestsInFlight + 1) * preferenceFactor(candidate.taints, preferences);
}

/** 0…1. Unknown counts as full: it is not idle. */
function usedShare({ activeBlocks, totalBlocks }: WorkerCandidate): number {
  if (activeBlocks === null || totalBlocks === null || totalBlocks <= 0) return 1;
  return Math.min(1, activeBlocks / totalBlocks);
}
