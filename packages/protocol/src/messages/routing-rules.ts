import type { WorkerId } from "../ids.ts";

/** Taints that a worker must or should have. A topology entry is the taint `baton.topology/<domain>=<value>`. */
export interface RoutingConstraints {
  readonly requiredTaints: readonly string[];
  /** Taint to weight in 0…1. */
  readonly preferredTaints: Readonly<Record<string, number>>;
}

/** What a request, or a step before, says about the choice of a worker. Travels as a map; null if nothing is said. */
export interface RoutingRules {
  readonly constraints?: RoutingConstraints;
  /** Only these workers may be chosen. */
  readonly allowedWorkers?: readonly WorkerId[];
  readonly prefillWorkerId?: WorkerId;
  readonly prefillDpRank?: number;
  readonly decodeWorkerId?: WorkerId;
  readonly decodeDpRank?: number;
}

/** The three overrides of a decode leg that follows a remote prefill (`dynamo-semantics` 1.8). */
export interface DecodeOverrides {
  readonly overlapScoreCredit: number;
  readonly assumeKvReuse: boolean;
  readonly trackPrefillTokens: boolean;
}
