import type { WorkerView } from "@baton/cluster-view";
import type { Selection, SelectionRequest, WorkerCandidate } from "@baton/kv-router";
import type {
  Leg,
  RequestHead,
  RouterRole,
  RoutingConstraints,
  RoutingRules,
  WorkerId,
  WorkerType,
  WorkerVerb,
} from "@baton/protocol";

/** A routing request, as far as a desk looks into it. */
export interface DeskRequest extends RequestHead {
  /** How long the desk may hold it, ms from receipt. */
  readonly timeoutMs: number;
  readonly promptTokens: number;
  /** 8 bytes per full block of the prompt. */
  readonly blockHashes: Uint8Array;
  /** 8 bytes per full block of the prompt. */
  readonly sequenceHashes: Uint8Array;
  readonly rules: RoutingRules | null;
}

/** A chosen worker. */
export type Chosen = Extract<Selection, { kind: "selected" }>;

/** What to send to the worker that was chosen. */
export interface WorkerCommand {
  readonly verb: WorkerVerb;
  readonly payload: Uint8Array;
}

/** What differs between the roles. One for each desk: it may remember what it derives from the workers. */
export interface DeskPolicy<Request extends DeskRequest> {
  readonly role: RouterRole;
  readonly leg: Leg;
  /** The types of workers that the role chooses: what others report is not about its bookings. */
  readonly workerTypes: ReadonlySet<WorkerType>;
  /** The type of worker that the request is for. */
  workerType(request: Request): WorkerType;
  /** What the choice is for. */
  stage(request: Request): SelectionRequest["stage"];
  /** Whether what workers of the type hold may matter to a request: if not, nobody follows their KV events. */
  usesKvEvents(workerType: WorkerType, workers: readonly WorkerView[]): boolean;
  /** What the topology of a chosen worker asks of the next leg; null for nothing. */
  nextConstraints?(workerId: WorkerId): RoutingConstraints | null;
  /** Told of all workers of the model, and again after each change of life, drain or catalog. */
  follow?(workers: readonly WorkerView[]): void;
  /** Leaves out candidates for reasons that the rules do not know. Requests without rules all get the same. */
  narrow?(request: Request, candidates: readonly WorkerCandidate[]): readonly WorkerCandidate[];
  rules(
    request: Request,
  ): Pick<SelectionRequest, "constraints" | "allowedWorkers" | "pin" | "overrides">;
  /** Whether the request's KV is staged: it then goes before all others, and waits only for room. */
  isStaged(request: Request): boolean;
  /** The command for the chosen worker. Throws a `ServingError` if the request must not be dispatched. */
  command(request: Request, chosen: Chosen, worker: WorkerView): WorkerCommand;
}

/** Limits of a desk. */
export interface DeskLimits {
  /** Most requests that wait; as many again with staged KV. */
  readonly queueLimit: number;
  /** Most bookings held. */
  readonly bookingLimit: number;
  /** How long a booking may be missing from its worker's reports, ms. */
  readonly bookingGraceMs: number;
  /** How long a worker that could not be reached is left out, ms. */
  readonly refusalMs: number;
}
