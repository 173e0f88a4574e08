import type { RouterOverrides, RoutingConstraints, WorkerId } from "@baton/protocol";
import type { Ineligibility } from "./eligibility.ts";
import type { IgnoredField } from "./ignored-fields.ts";
import type { PinFault, WorkerPin } from "./worker-pin.ts";

/** One data-parallel rank of a worker, as it looks at the moment of a choice. */
export interface WorkerCandidate {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  /** All taints, the topology's included: see `workerTaints`. */
  readonly taints: ReadonlySet<string>;
  /** The worker takes no more work. */
  readonly draining: boolean;
  /** Until when the worker counts as busy because it refused a request, epoch ms; 0 if it did not. */
  readonly refusesUntilMs: number;
  /** Requests on this rank, bookings included. */
  readonly requestsInFlight: number;
  /** Requests on all ranks of the worker, bookings included. */
  readonly workerRequestsInFlight: number;
  /** Most requests that the worker takes at a time; Infinity for no limit. */
  readonly maxRequestsInFlight: number;
  /** KV blocks in use, null if the worker does not say. */
  readonly activeBlocks: number | null;
  /** KV blocks there are, null if the worker does not say. */
  readonly totalBlocks: number | null;
  /** Leading blocks of the prompt that this rank holds on its device; 0 if nobody looked. */
  readonly overlapBlocks: number;
  /** Blocks in host memory that go on where those of the device end. */
  readonly hostOverlapBlocks: number;
  /** Blocks on disk that go on where those in host memory end. */
  readonly diskOverlapBlocks: number;
  /** Blocks of active requests, as the router has booked them, shared ones once. */
  readonly bookedBlocks: number;
  /** Leading blocks of the prompt that are among them. */
  readonly bookedOverlapBlocks: number;
  /** Prompt tokens that were booked and are still to be computed. */
  readonly activePrefillTokens: number;
  /** Most tokens of one pass, for thresholds that are a share of it; null if the worker does not say. */
  readonly maxBatchedTokens: number | null;
  /** A busy threshold is passed. */
  readonly overloaded: boolean;
}

/** What a request asks of a choice. */
export interface SelectionRequest {
  readonly nowMs: number;
  readonly promptTokens: number;
  /** Tokens a block; for the terms of cost that are in blocks. */
  readonly blockSize: number;
  /** Full blocks of the prompt. */
  readonly promptBlocks: number;
  /** Which half of the generation the choice is for: `decode` is one that follows a prefill. */
  readonly stage: "prefill" | "decode" | "aggregated";
  /** The rank that a session went to last: taken while it is eligible. */
  readonly preferred?: { readonly workerId: WorkerId; readonly dpRank: number };
  readonly constraints?: RoutingConstraints;
  /** Only these workers may be chosen. */
  readonly allowedWorkers?: ReadonlySet<WorkerId>;
  readonly pin?: WorkerPin;
  readonly overrides?: RouterOverrides;
  /** Output tokens that the client expects. */
  readonly expectedOutputTokens?: number;
}

/** Why nobody was chosen: nobody is there; all are excluded by rule; some would do, but none has room. */
export type NoneReason = "no_workers" | "all_excluded" | "all_busy";

/** What stood in the way, for an error's fields and its text. */
export interface SelectionDetail {
  /** Candidates by what made them ineligible. */
  readonly counts: Readonly<Partial<Record<Ineligibility, number>>>;
  /** Required taints that the closest candidate lacks. */
  readonly missingTaints: readonly string[];
  /** One sentence for people. */
  readonly text: string;
}

/** The outcome of a choice. */
export type Selection =
  | {
      readonly kind: "selected";
      readonly workerId: WorkerId;
      readonly generation: number;
      readonly dpRank: number;
      readonly overlapBlocks: number;
      /** Prompt tokens that the rank holds, those outside its device by the weight of their tier. */
      readonly cachedTokens: number;
      /** The most blocks that any eligible candidate holds. */
      readonly bestOverlapBlocks: number;
    }
  | { readonly kind: "none"; readonly reason: NoneReason; readonly detail: SelectionDetail }
  /** The client's fault: its pin cannot be met by any worker. */
  | { readonly kind: "invalid_pin"; readonly fault: PinFault; readonly text: string }
  /** The policy's fault: a cost that is not finite, or a choice outside the candidates. */
  | { readonly kind: "policy_failed"; readonly text: string };

/** What a candidate would cost; lower is better. */
export interface CandidateCost {
  readonly cost: number;
  /** What the cost was made of, by name. */
  readonly terms: Readonly<Record<string, number>>;
}

/** How one candidate fared. */
export interface CandidateExplanation extends CandidateCost {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  readonly eligible: boolean;
  /** Absent when eligible. */
  readonly why?: Ineligibility;
  readonly overlapBlocks: number;
  /** Prompt tokens that the rank holds, those outside its device by the weight of their tier. */
  readonly cachedTokens: number;
}

/** A choice that was only asked about, with its reasons. */
export interface SelectionExplanation {
  readonly selection: Selection;
  /** In the order of the candidates given. */
  readonly candidates: readonly CandidateExplanation[];
  /** Fields that the request sets and that have no effect in this mode. */
  readonly ignored: readonly IgnoredField[];
}

/** Chooses workers for the requests of one model and role. It remembers between choices what its mode needs. */
export interface WorkerSelector {
  /** The router mode, or the type of a policy of one's own. */
  readonly mode: string;
  /** Whether the overlaps of candidates are looked at; without, nobody need look them up. */
  readonly usesCacheData: boolean;
  /** Chooses, and counts the choice. `random` is in [0, 1). */
  select(
    request: SelectionRequest,
    candidates: readonly WorkerCandidate[],
    random: number,
  ): Selection;
  /** Says what `select` would choose and why. Counts nothing, so that asking changes no later choice. */
  explain(
    request: SelectionRequest,
    candidates: readonly WorkerCandidate[],
    random: number,
  ): SelectionExplanation;
}
