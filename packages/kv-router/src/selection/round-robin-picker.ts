import { noCost, type Picker } from "./picker.ts";
import type { WorkerCandidate } from "./worker-selector.ts";

type RankKey = Pick<WorkerCandidate, "workerId" | "dpRank">;

/**
 * Takes free candidates in the order of their ids, one after the other. It remembers whom it took last and not a
 * position, so that workers may come and go without anyone being passed over.
 */
export function createRoundRobinPicker(): Picker {
  let last: RankKey | undefined;
  return {
    mode: "round-robin",
    usesPreferences: false,
    costs: (_request, candidates) => candidates.map(() => noCost),
    pick: (_request, free) => nextAfter(last, free),
    taken: ({ workerId, dpRank }) => {
      last = { workerId, dpRank };
    },
  };
}

/** The index of the first candidate after `last` in the circle of ids. */
function nextAfter(last: RankKey | undefined, free: readonly WorkerCandidate[]): number {
  let first = 0;
  let next = -1;
  for (let index = 0; index < free.length; index++) {
    const candidate = free[index]!;
    if (isBefore(candidate, free[first]!)) first = index;
    const isAfterLast = last !== undefined && isBefore(last, candidate);
    if (isAfterLast && (next < 0 || isBefore(candidate, free[next]!))) next = index;
  }
  return next < 0 ? first : next;
}

function isBefore(left: RankKey, right: RankKey): boolean {
  return left.workerId === right.workerId
    ? left.dpRank < right.dpRank
    : left.workerId < right.workerId;
}
