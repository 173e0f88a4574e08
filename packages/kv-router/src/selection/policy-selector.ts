// Hot path: `select` runs once per request. Budget 10 µs with 64 candidates, 60 µs with 1,000. Bench: bench/selection/select.bench.ts
import { type Preferences, preferenceFactor, preferencesOf } from "../topology/taints.ts";
import { cheapestPicker } from "./cheapest-picker.ts";
import { cachedTokensOf } from "./effective-overlap.ts";
import { busynessOf, ineligibilityOf, isUnrestricted } from "./eligibility.ts";
import { ignoredFields } from "./ignored-fields.ts";
import { defaultTierWeights } from "./policy-parameters.ts";
import { describeNone } from "./selection-detail.ts";
import type {
  CandidateFilter,
  Choice,
  Picker,
  Scorer,
  SelectionPolicy,
  TierWeights,
} from "./selection-policy.ts";
import { type ResolvedPin, resolvePin } from "./worker-pin.ts";
import type {
  CandidateCost,
  CandidateExplanation,
  Selection,
  SelectionExplanation,
  SelectionRequest,
  WorkerCandidate,
  WorkerSelector,
} from "./worker-selector.ts";

const noFilters: readonly CandidateFilter[] = [];
const noScorers: readonly Scorer[] = [];
const noCost: CandidateCost = { cost: 0, terms: {} };

/** Applies the rules that hold in every mode, then a policy. */
export class PolicySelector implements WorkerSelector {
  readonly mode: string;
  readonly usesCacheData: boolean;
  readonly #policy: SelectionPolicy;
  readonly #filters: readonly CandidateFilter[];
  readonly #scorers: readonly Scorer[];
  readonly #picker: Picker;
  readonly #weights: TierWeights;
  /** Used again for every choice. */
  readonly #eligible: WorkerCandidate[] = [];
  #costs = new Float64Array(16);

  constructor(policy: SelectionPolicy) {
    this.mode = policy.type;
    this.usesCacheData = policy.usesCacheData;
    this.#policy = policy;
    this.#filters = policy.filters ?? noFilters;
    this.#scorers = policy.scorers ?? noScorers;
    this.#picker = policy.picker ?? cheapestPicker;
    this.#weights = policy.tierWeights ?? defaultTierWeights;
  }

  select(
    request: SelectionRequest,
    candidates: readonly WorkerCandidate[],
    random: number,
  ): Selection {
    return this.#select(request, this.#pinOf(request, candidates), candidates, random, true);
  }

  explain(
    request: SelectionRequest,
    candidates: readonly WorkerCandidate[],
    random: number,
  ): SelectionExplanation {
    const pin = this.#pinOf(request, candidates);
    const selection = this.#select(request, pin, candidates, random, false);
    const explained = this.#explainCosts(request, candidates);
    return {
      selection,
      candidates: candidates.map((candidate, index) => ({
        ...this.#explainEligibility(request, pin, candidate),
        ...explained[index]!,
      })),
      ignored: ignoredFields(this.#policy, request),
    };
  }

  #pinOf(request: SelectionRequest, candidates: readonly WorkerCandidate[]): ResolvedPin {
    return resolvePin(request, candidates, this.#policy.needsPin);
  }

  #select(
    request: SelectionRequest,
    pin: ResolvedPin,
    candidates: readonly WorkerCandidate[],
    random: number,
    counts: boolean,
  ): Selection {
    this.#gatherEligible(request, pin, candidates);
    if (pin.kind === "invalid") return { kind: "invalid_pin", fault: pin.fault, text: pin.text };
    const eligible = this.#eligible;
    if (eligible.length === 0) return describeNone(request, pin, candidates, this.#filters);
    const settled = pin.kind === "pinned" ? eligible[0]! : preferredOf(request, eligible);
    if (settled !== undefined) return this.#selected(request, settled);
    const choice = { request, eligible };
    const dubious = this.#score(choice);
    if (dubious !== undefined) return this.#failed(dubious);
    const picked = this.#picker.pick(choice, this.#costs, random);
    const chosen = eligible[picked];
    if (chosen === undefined) {
      return failed(`policy "${this.mode}" picked number ${picked} of ${eligible.length}`);
    }
    if (counts) this.#picker.taken?.(chosen);
    return this.#selected(request, chosen);
  }

  /** Leaves who can be chosen in `#eligible`. What a plain request need not be asked is asked once, not of every candidate. */
  #gatherEligible(
    request: SelectionRequest,
    pin: ResolvedPin,
    candidates: readonly WorkerCandidate[],
  ): void {
    const eligible = this.#eligible;
    const filters = this.#filters;
    const isPlain = filters.length === 0 && isUnrestricted(request, pin);
    let count = 0;
    for (let index = 0; index < candidates.length; index++) {
      const candidate = candidates[index]!;
      const isFree = isPlain
        ? !candidate.draining && busynessOf(request, candidate) === undefined
        : ineligibilityOf(filters, request, pin, candidate) === undefined;
      if (!isFree) continue;
      eligible[count] = candidate;
      count += 1;
    }
    eligible.length = count;
  }

  /** Fills `#costs`. Returns the first candidate whose cost is not finite. */
  #score(choice: Choice): WorkerCandidate | undefined {
    const { eligible, request } = choice;
    if (this.#costs.length < eligible.length) this.#costs = new Float64Array(2 * eligible.length);
    const costs = this.#costs;
    if (this.#scorers.length === 0) {
      costs.fill(0, 0, eligible.length);
      return undefined;
    }
    for (const scorer of this.#scorers) scorer.begin?.(choice);
    const preferences = preferencesOf(request.constraints);
    for (let index = 0; index < eligible.length; index++) {
      const cost = this.#costOf(choice, eligible[index]!, preferences);
      if (!Number.isFinite(cost)) return eligible[index];
      costs[index] = cost;
    }
    return undefined;
  }

  #costOf(choice: Choice, candidate: WorkerCandidate, preferences: Preferences): number {
    const scorers = this.#scorers;
    let sum = 0;
    for (let index = 0; index < scorers.length; index++) {
      sum += scorers[index]!.cost(candidate, choice);
    }
    return preferences.length === 0 ? sum : sum * preferenceFactor(candidate.taints, preferences);
  }

  #selected(request: SelectionRequest, chosen: WorkerCandidate): Selection {
    const eligible = this.#eligible;
    let bestOverlapBlocks = 0;
    for (let index = 0; index < eligible.length; index++) {
      const { overlapBlocks } = eligible[index]!;
      if (overlapBlocks > bestOverlapBlocks) bestOverlapBlocks = overlapBlocks;
    }
    return {
      kind: "selected",
      workerId: chosen.workerId,
      generation: chosen.generation,
      dpRank: chosen.dpRank,
      overlapBlocks: chosen.overlapBlocks,
      cachedTokens: cachedTokensOf(chosen, request.blockSize, this.#weights),
      bestOverlapBlocks,
    };
  }

  #failed({ workerId, dpRank }: WorkerCandidate): Selection {
    return failed(
      `policy "${this.mode}" has no finite cost for worker ${workerId}, rank ${dpRank}`,
    );
  }

  #explainCosts(
    request: SelectionRequest,
    candidates: readonly WorkerCandidate[],
  ): readonly CandidateCost[] {
    const scorers = this.#scorers;
    if (scorers.length === 0) return candidates.map(() => noCost);
    const eligible = this.#eligible.length > 0 ? this.#eligible : candidates;
    const choice = { request, eligible };
    for (const scorer of scorers) scorer.begin?.(choice);
    const preferences = preferencesOf(request.constraints);
    return candidates.map((candidate) => ({
      cost: this.#costOf(choice, candidate, preferences),
      terms: {
        ...termsOf(scorers, choice, candidate),
        preference_factor: preferenceFactor(candidate.taints, preferences),
      },
    }));
  }

  #explainEligibility(
    request: SelectionRequest,
    pin: ResolvedPin,
    candidate: WorkerCandidate,
  ): Omit<CandidateExplanation, "cost" | "terms"> {
    const { workerId, generation, dpRank, overlapBlocks } = candidate;
    const cachedTokens = cachedTokensOf(candidate, request.blockSize, this.#weights);
    const rank = { workerId, generation, dpRank, overlapBlocks, cachedTokens };
    // With a pin that nobody can meet, no candidate is the pinned one.
    const why =
      pin.kind === "invalid"
        ? "not_pinned"
        : ineligibilityOf(this.#filters, request, pin, candidate);
    return why === undefined ? { ...rank, eligible: true } : { ...rank, eligible: false, why };
  }
}

/** The rank that the request's session went to last, if it is eligible. */
function preferredOf(
  { preferred }: SelectionRequest,
  eligible: readonly WorkerCandidate[],
): WorkerCandidate | undefined {
  if (preferred === undefined) return undefined;
  return eligible.find(
    ({ workerId, dpRank }) => workerId === preferred.workerId && dpRank === preferred.dpRank,
  );
}

function termsOf(
  scorers: readonly Scorer[],
  choice: Choice,
  candidate: WorkerCandidate,
): Record<string, number> {
  const terms: Record<string, number> = {};
  for (const scorer of scorers) {
    Object.assign(
      terms,
      scorer.terms?.(candidate, choice) ?? { [scorer.name]: scorer.cost(candidate, choice) },
    );
  }
  return terms;
}

function failed(text: string): Selection {
  return { kind: "policy_failed", text };
}
