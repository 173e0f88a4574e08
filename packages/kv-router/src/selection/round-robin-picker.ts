import type { Picker } from "./selection-policy.ts";
import type { WorkerCandidate } from "./worker-selector.ts";

type RankKey = Pick<WorkerCandidate, "workerId" | "dpRank">;

/**
 * Takes candidates in the order of their ids and ranks, one after the other. It remembers whom it took last and not a
 * position, so that workers may come and go without anyone being passed over.
 */
export function createRoundRobinPicker(): Picker {
  let last: RankKey | undefined;
  return {
    pick: ({ eligible }) => nextAfter(last, eligible),
    taken: ({ workerId, dpRank }) => {
      last = { workerId, dpRank };
    },
  };
}

/** The index of the first candidate after `last` in the circle of ids. */
function nextAfter(last: RankKey | undefined, eligible: readonly WorkerCandidate[]): number {
  let first = 0;
  let next = -1;
  for (let index = 0; index < eligible.length; index++) {
    const candidate = eligible[index]!;
    if (isBefore(candidate, eligible[first]!)) first = index;
    const isAfterLast = last !== undefined && isBefore(last, candidate);
    if (isAfterLast && (next < 0 || isBefore(candidate, eligible[next]!))) next = index;
  }
  return next < 0 ? first : next;
}

function isBefore(left: RankKey, right: RankKey): boolean {
  return left.workerId === right.workerId
    ? left.dpRank < right.dpRank
    : left.workerId < right.workerId;
}
