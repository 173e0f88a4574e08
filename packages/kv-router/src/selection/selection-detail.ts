import { missingTaints, topologyDomain } from "../topology/taints.ts";
import { type Busyness, exclusionOf, type Ineligibility, ineligibilityOf } from "./eligibility.ts";
import type { CandidateFilter } from "./selection-policy.ts";
import type { ResolvedPin } from "./worker-pin.ts";
import type {
  NoneReason,
  Selection,
  SelectionRequest,
  WorkerCandidate,
} from "./worker-selector.ts";

/** Says why none of the candidates is free. */
export function describeNone(
  request: SelectionRequest,
  pin: ResolvedPin,
  candidates: readonly WorkerCandidate[],
  filters: readonly CandidateFilter[] = [],
): Selection {
  const counts: Partial<Record<Ineligibility, number>> = {};
  let busy = 0;
  for (const candidate of candidates) {
    const why = ineligibilityOf(filters, request, pin, candidate);
    if (why === undefined) continue;
    if (isBusyness(why)) busy += 1;
    counts[why] = (counts[why] ?? 0) + 1;
  }
  const reason = reasonOf(candidates.length, busy);
  const missing = reason === "all_excluded" ? leastMissing(request, pin, candidates) : [];
  return {
    kind: "none",
    reason,
    detail: { counts, missingTaints: missing, text: textOf(reason, counts, missing) },
  };
}

/** Names the domains of topology taints and quotes the others, for people. */
export function describeTaints(taints: readonly string[]): string {
  return taints
    .map((taint) => {
      const domain = topologyDomain(taint);
      return domain === undefined ? `taint "${taint}"` : `domain "${domain}" (${taint})`;
    })
    .join(", ");
}

function isBusyness(why: Ineligibility): why is Busyness {
  return why === "at_limit" || why === "refusing" || why === "overloaded";
}

function reasonOf(candidates: number, busy: number): NoneReason {
  if (candidates === 0) return "no_workers";
  return busy > 0 ? "all_busy" : "all_excluded";
}

/** What the candidate that comes closest lacks, among those that only taints keep out. */
function leastMissing(
  request: SelectionRequest,
  pin: ResolvedPin,
  candidates: readonly WorkerCandidate[],
): readonly string[] {
  let least: readonly string[] = [];
  for (const candidate of candidates) {
    if (exclusionOf(request, pin, candidate) !== "missing_taint") continue;
    const missing = missingTaints(candidate.taints, request.constraints);
    if (least.length === 0 || missing.length < least.length) least = missing;
  }
  return least;
}

const phrases: Readonly<Record<Ineligibility, string>> = {
  not_allowed: "not allowed by the request",
  draining: "draining",
  not_pinned: "not the pinned one",
  missing_taint: "without a required taint",
  filtered: "left out by the policy",
  at_limit: "at their limit",
  refusing: "refusing work",
  overloaded: "overloaded",
};

function textOf(
  reason: NoneReason,
  counts: Readonly<Partial<Record<Ineligibility, number>>>,
  missing: readonly string[],
): string {
  if (reason === "no_workers") return "no worker is there";
  const parts = (Object.keys(phrases) as Ineligibility[])
    .filter((why) => counts[why] !== undefined)
    .map((why) => `${counts[why]} ${phrases[why]}`);
  const text = `${reason === "all_busy" ? "no worker is free" : "no worker may take it"}: ${parts.join(", ")}`;
  return missing.length === 0 ? text : `${text}; missing ${describeTaints(missing)}`;
}
