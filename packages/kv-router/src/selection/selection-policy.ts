import type { RouterOverrides } from "@baton/protocol";
import type { SelectionRequest, WorkerCandidate } from "./worker-selector.ts";

/** One choice that is being made. */
export interface Choice {
  readonly request: SelectionRequest;
  /** Those among whom one is taken: rules, room and filters let them through. For this choice only. */
  readonly eligible: readonly WorkerCandidate[];
}

/** Leaves out candidates for reasons of its own, after the rules that hold in every mode. Not asked about a pinned one. */
export interface CandidateFilter {
  readonly name: string;
  keeps(candidate: WorkerCandidate, request: SelectionRequest): boolean;
}

/** Says what candidates cost; lower is better. Costs of several scorers are added. */
export interface Scorer {
  readonly name: string;
  /** Called once before the costs of a choice are asked for: the place for what all candidates share. */
  begin?(choice: Choice): void;
  /**
   * Hot path: once per candidate. 0 or more, or preferred taints, which multiply the sum, turn round; one that is not
   * finite fails the choice. To explain a choice, candidates that are not eligible are asked about as well.
   */
  cost(candidate: WorkerCandidate, choice: Choice): number;
  /** What the cost was made of, by name; absent: the scorer's name with its cost. */
  terms?(candidate: WorkerCandidate, choice: Choice): Readonly<Record<string, number>>;
}

/** Takes one of the eligible candidates. */
export interface Picker {
  /**
   * The index in `choice.eligible`, which is not empty, of the candidate to take. `costs` has at least as many numbers, and
   * may be written over. `random` is in [0, 1). Remembers nothing: asking changes no later choice.
   */
  pick(choice: Choice, costs: Float64Array, random: number): number;
  /** Remembers that a candidate was picked. Not called for one that was pinned, or kept for its session. */
  taken?(candidate: WorkerCandidate): void;
}

/** How much blocks outside the device count, next to 1 for one on it. */
export interface TierWeights {
  /** A block in host memory, 0 to 1. */
  readonly host: number;
  /** A block on disk, 0 to 1. */
  readonly disk: number;
}

/** Fields of a request that some policies look at, by the name that clients know. */
export type RequestField =
  | "overlap_score_credit"
  | "prefill_load_scale"
  | "router_temperature"
  | "assume_kv_reuse"
  | "track_prefill_tokens"
  | "expected_output_tokens";

/** The field of each override. */
export const overrideFields: Readonly<Record<keyof RouterOverrides, RequestField>> = {
  overlapScoreCredit: "overlap_score_credit",
  prefillLoadScale: "prefill_load_scale",
  routerTemperature: "router_temperature",
  assumeKvReuse: "assume_kv_reuse",
  trackPrefillTokens: "track_prefill_tokens",
};

/**
 * A way to choose: filters, then scorers, whose costs are added and then multiplied by the factor of the preferred taints,
 * then a picker. The rules of every mode (allow-list, drain, pin, required taints, room) come before, and a pinned
 * candidate is taken whatever it costs.
 */
export interface SelectionPolicy {
  /** Its name in errors and in `WorkerSelector.mode`. */
  readonly type: string;
  /** Whether the overlaps of candidates are looked at; without, nobody need look them up. */
  readonly usesCacheData: boolean;
  readonly filters?: readonly CandidateFilter[];
  /** Absent or empty: nothing is compared, and preferred taints have no effect. */
  readonly scorers?: readonly Scorer[];
  /** Absent: the cheapest, ties at random. */
  readonly picker?: Picker;
  /** Fields of a request that change the choice; the others are shown as ignored. Absent: none. */
  readonly reads?: readonly RequestField[];
  /** Absent: 0.75 and 0.25. */
  readonly tierWeights?: TierWeights;
  /** A request without a pin is refused: the policy never chooses. Absent: false. */
  readonly needsPin?: boolean;
}

/** What the module of a policy exports under the name `createPolicy`. Parameters come from the policy file. */
export type CreatePolicy = (parameters: Readonly<Record<string, number>>) => SelectionPolicy;
