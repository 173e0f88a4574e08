import { preferencesOf } from "../topology/taints.ts";
import { busynessOf, exclusionOf } from "./eligibility.ts";
import { createLeastLoadedPicker } from "./least-loaded-picker.ts";
import type { Picker } from "./picker.ts";
import { createRandomPicker } from "./random-picker.ts";
import { createRoundRobinPicker } from "./round-robin-picker.ts";
import type { BuiltRouterMode } from "./router-mode.ts";
import { describeNone } from "./selection-detail.ts";
import { type ResolvedPin, resolvePin } from "./worker-pin.ts";
import type {
  CandidateExplanation,
  Selection,
  SelectionExplanation,
  SelectionRequest,
  WorkerCandidate,
  WorkerSelector,
} from "./worker-selector.ts";

const pickers: Readonly<Record<BuiltRouterMode, () => Picker>> = {
  "round-robin": createRoundRobinPicker,
  random: createRandomPicker,
  "least-loaded": createLeastLoadedPicker,
};

/** A selector of the given mode; see `parseRouterMode` for a name that a person typed. */
export function createSelector(mode: BuiltRouterMode): WorkerSelector {
  return new FilteringSelector(pickers[mode]());
}

/** Filters by the rules, then by room, and leaves the choice to a picker. */
class FilteringSelector implements WorkerSelector {
  readonly mode: BuiltRouterMode;
  readonly #picker: Picker;

  constructor(picker: Picker) {
    this.mode = picker.mode;
    this.#picker = picker;
  }

  /** Hot path: once per request. */
  select(
    request: SelectionRequest,
    candidates: readonly WorkerCandidate[],
    random: number,
  ): Selection {
    const pin = resolvePin(request, candidates);
    if (pin.kind === "invalid") return invalidPin(pin);
    const free = freeCandidates(request, pin, candidates);
    if (free.length === 0) return describeNone(request, pin, candidates);
    const chosen = free[this.#picker.pick(request, free, random)]!;
    this.#picker.taken(chosen);
    return selected(chosen, free);
  }

  explain(
    request: SelectionRequest,
    candidates: readonly WorkerCandidate[],
    random: number,
  ): SelectionExplanation {
    const pin = resolvePin(request, candidates);
    const costs = this.#picker.costs(request, candidates);
    return {
      selection: this.#preview(request, pin, candidates, random),
      candidates: candidates.map((candidate, index) => ({
        ...explainEligibility(request, pin, candidate),
        ...costs[index]!,
      })),
      ignored: this.#ignores(request) ? ["preferred_taints"] : [],
    };
  }

  #preview(
    request: SelectionRequest,
    pin: ResolvedPin,
    candidates: readonly WorkerCandidate[],
    random: number,
  ): Selection {
    if (pin.kind === "invalid") return invalidPin(pin);
    const free = freeCandidates(request, pin, candidates);
    return free.length === 0
      ? describeNone(request, pin, candidates)
      : selected(free[this.#picker.pick(request, free, random)]!, free);
  }

  #ignores({ constraints }: SelectionRequest): boolean {
    return preferencesOf(constraints).length > 0 && !this.#picker.usesPreferences;
  }
}

function freeCandidates(
  request: SelectionRequest,
  pin: ResolvedPin,
  candidates: readonly WorkerCandidate[],
): readonly WorkerCandidate[] {
  return candidates.filter(
    (candidate) =>
      exclusionOf(request, pin, candidate) === undefined &&
      busynessOf(request, candidate) === undefined,
  );
}

function explainEligibility(
  request: SelectionRequest,
  pin: ResolvedPin,
  candidate: WorkerCandidate,
): Omit<CandidateExplanation, "cost" | "terms"> {
  const { workerId, generation, dpRank, overlapBlocks } = candidate;
  const rank = { workerId, generation, dpRank, overlapBlocks };
  // With a pin that nobody can meet, no candidate is the pinned one.
  const why =
    pin.kind === "invalid"
      ? "not_pinned"
      : (exclusionOf(request, pin, candidate) ?? busynessOf(request, candidate));
  return why === undefined ? { ...rank, eligible: true } : { ...rank, eligible: false, why };
}

function selected(chosen: WorkerCandidate, free: readonly WorkerCandidate[]): Selection {
  let bestOverlapBlocks = 0;
  for (const { overlapBlocks } of free) {
    if (overlapBlocks > bestOverlapBlocks) bestOverlapBlocks = overlapBlocks;
  }
  const { workerId, generation, dpRank, overlapBlocks } = chosen;
  return { kind: "selected", workerId, generation, dpRank, overlapBlocks, bestOverlapBlocks };
}

function invalidPin({ fault, text }: Extract<ResolvedPin, { kind: "invalid" }>): Selection {
  return { kind: "invalid_pin", fault, text };
}
