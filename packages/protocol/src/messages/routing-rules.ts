import type { WorkerId } from "../ids.ts";

/** Taints that a worker must or should have. A topology entry is the taint `baton.topology/<domain>=<value>`. */
export interface RoutingConstraints {
  readonly requiredTaints: readonly string[];
  /** Taint to weight; a negative one repels. */
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
  /** The session that the request belongs to. */
  readonly session?: RequestSession;
  /** Settings of KV-aware selection, for this request alone. */
  readonly overrides?: RouterOverrides;
  /** Output tokens that the client expects. */
  readonly expectedOutputTokens?: number;
}

/** A session: requests that had best go where the one before went. */
export interface RequestSession {
  readonly id: string;
  /** The session that this one was split off from: those of one parent go to the same worker. */
  readonly parent?: string;
}

/** Settings of KV-aware selection that one request may change. What is absent keeps the router's own value. */
export interface RouterOverrides {
  /** How much of an overlap counts; 0 or more. */
  readonly overlapScoreCredit?: number;
  /** Weight of the prefill term; 0 or more. */
  readonly prefillLoadScale?: number;
  /** Softmax temperature over costs; 0 or more. */
  readonly routerTemperature?: number;
  /** Whether equal prefixes of active requests count once. */
  readonly assumeKvReuse?: boolean;
  /** Whether prompt tokens still to be computed count as load. */
  readonly trackPrefillTokens?: boolean;
}

/** The three overrides of a decode leg that follows a remote prefill (`dynamo-semantics` 1.8). */
export interface DecodeOverrides {
  readonly overlapScoreCredit: number;
  readonly assumeKvReuse: boolean;
  readonly trackPrefillTokens: boolean;
}
