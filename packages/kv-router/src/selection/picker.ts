import type { BuiltRouterMode } from "./router-mode.ts";
import type { CandidateCost, SelectionRequest, WorkerCandidate } from "./worker-selector.ts";

/** What sets one router mode apart: which of the free candidates it takes. Filters have run before. */
export interface Picker {
  readonly mode: BuiltRouterMode;
  /** Whether preferred taints change the choice. */
  readonly usesPreferences: boolean;
  /** What each candidate would cost, in the order given. A mode that compares nothing says 0. */
  costs(
    request: SelectionRequest,
    candidates: readonly WorkerCandidate[],
  ): readonly CandidateCost[];
  /** The index of the candidate to take; `free` is not empty, `random` is in [0, 1). Changes nothing. */
  pick(request: SelectionRequest, free: readonly WorkerCandidate[], random: number): number;
  /** Remembers that the candidate was taken. */
  taken(candidate: WorkerCandidate): void;
}

/** A whole number in 0…count-1 from a random number in [0, 1). */
export function randomIndex(count: number, random: number): number {
  return Math.min(count - 1, Math.floor(random * count));
}

/** The cost of a mode that does not compare. */
export const noCost: CandidateCost = { cost: 0, terms: {} };
