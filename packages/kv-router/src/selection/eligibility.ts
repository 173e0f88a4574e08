/** Hot path: once per request and candidate. */
import { satisfies } from "../topology/taints.ts";
import type { CandidateFilter } from "./selection-policy.ts";
import type { ResolvedPin } from "./worker-pin.ts";
import type { SelectionRequest, WorkerCandidate } from "./worker-selector.ts";

/** A rule that keeps a candidate out whatever its load. */
export type Exclusion = "not_allowed" | "draining" | "not_pinned" | "missing_taint";

/** Why a candidate that the rules let through takes nothing at the moment. */
export type Busyness = "at_limit" | "refusing" | "overloaded";

/** Why a candidate cannot be chosen. `filtered`: by a filter of the policy. */
export type Ineligibility = Exclusion | "filtered" | Busyness;

/** The first rule that keeps the candidate out, if any. The same in every router mode. */
export function exclusionOf(
  request: SelectionRequest,
  pin: ResolvedPin,
  candidate: WorkerCandidate,
): Exclusion | undefined {
  if (request.allowedWorkers?.has(candidate.workerId) === false) return "not_allowed";
  if (candidate.draining) return "draining";
  if (pin.kind === "pinned" && !isPinned(pin, candidate)) return "not_pinned";
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
  if (candidate.overloaded) return "overloaded";
  return undefined;
}

/** Whether no rule but the drain can keep anyone out. */
export function isUnrestricted(
  { allowedWorkers, constraints }: SelectionRequest,
  pin: ResolvedPin,
): boolean {
  const requiresNothing = constraints === undefined || constraints.requiredTaints.length === 0;
  return allowedWorkers === undefined && pin.kind !== "pinned" && requiresNothing;
}

/** Whether all filters keep the candidate. They are not asked about a pinned one. */
function passesFilters(
  filters: readonly CandidateFilter[],
  request: SelectionRequest,
  pin: ResolvedPin,
  candidate: WorkerCandidate,
): boolean {
  if (pin.kind === "pinned") return true;
  for (let index = 0; index < filters.length; index++) {
    if (!filters[index]!.keeps(candidate, request)) return false;
  }
  return true;
}

/** The first reason why the candidate cannot be chosen: rules, filters, room. */
export function ineligibilityOf(
  filters: readonly CandidateFilter[],
  request: SelectionRequest,
  pin: ResolvedPin,
  candidate: WorkerCandidate,
): Ineligibility | undefined {
  const exclusion = exclusionOf(request, pin, candidate);
  if (exclusion !== undefined) return exclusion;
  if (!passesFilters(filters, request, pin, candidate)) return "filtered";
  return busynessOf(request, candidate);
}

function isPinned(
  pin: Extract<ResolvedPin, { kind: "pinned" }>,
  candidate: WorkerCandidate,
): boolean {
  return candidate.workerId === pin.workerId && candidate.dpRank === pin.dpRank;
}
