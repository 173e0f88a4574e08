import { satisfies } from "../topology/taints.ts";
import type { ResolvedPin } from "./worker-pin.ts";
import type { SelectionRequest, WorkerCandidate } from "./worker-selector.ts";

/** A rule that keeps a candidate out whatever its load. */
export type Exclusion = "not_allowed" | "draining" | "not_pinned" | "missing_taint";

/** Why a candidate that the rules let through takes nothing at the moment. */
export type Busyness = "at_limit" | "refusing";

/** Why a candidate cannot be chosen. */
export type Ineligibility = Exclusion | Busyness;

/** The first rule that keeps the candidate out, if any. The same in every router mode. */
export function exclusionOf(
  request: SelectionRequest,
  pin: ResolvedPin,
  candidate: WorkerCandidate,
): Exclusion | undefined {
  if (request.allowedWorkers?.has(candidate.workerId) === false) return "not_allowed";
  if (pin.kind === "pinned" && !isPinned(pin, candidate)) return "not_pinned";
  if (candidate.draining) return "draining";
  if (!satisfies(candidate.taints, request.constraints)) return "missing_taint";
  return undefined;
}

/** Why the candidate has no room, if it has none. */
export function busynessOf(
  request: SelectionRequest,
  candidate: WorkerCandidate,
): Busyness | undefined {
  if (candidate.workerRequestsInFlight >= candidate.maxRequestsInFlight) return "at_limit";
  if (request.nowMs < candidate.refusesUntilMs) return "refusing";
  return undefined;
}

function isPinned(
  pin: Extract<ResolvedPin, { kind: "pinned" }>,
  candidate: WorkerCandidate,
): boolean {
  return candidate.workerId === pin.workerId && candidate.dpRank === pin.dpRank;
}
