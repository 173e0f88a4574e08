import type { WorkerId } from "@baton/protocol";
import type { SelectionRequest, WorkerCandidate } from "./worker-selector.ts";

/** A worker, and maybe its rank, that a client names. */
export interface WorkerPin {
  readonly workerId?: WorkerId;
  readonly dpRank?: number;
}

/** What is wrong with a pin. All are the client's fault: `unknown_worker` or `invalid_request`. */
export type PinFault =
  | "rank_without_worker"
  | "unknown_worker"
  | "not_allowed"
  | "rank_required"
  | "rank_out_of_range"
  /** The mode never chooses, and the request names nobody. */
  | "pin_required";

/** What a pin comes to: one rank, or a fault. */
export type ResolvedPin =
  | { readonly kind: "unpinned" }
  | { readonly kind: "pinned"; readonly workerId: WorkerId; readonly dpRank: number }
  | { readonly kind: "invalid"; readonly fault: PinFault; readonly text: string };

const unpinned: ResolvedPin = { kind: "unpinned" };

/**
 * Resolves a request's pin among the ranks that are known. Without a rank, a worker's only rank is meant; of
 * several none is assumed. A worker that drains or is busy is known: whether it will do is for selection to say. With
 * `needsPin` a request that names nobody is at fault.
 */
export function resolvePin(
  request: SelectionRequest,
  candidates: readonly WorkerCandidate[],
  needsPin = false,
): ResolvedPin {
  const { workerId, dpRank } = request.pin ?? {};
  if (workerId === undefined) {
    if (dpRank === undefined) return needsPin ? nobodyNamed(request) : unpinned;
    return invalid("rank_without_worker", `rank ${dpRank} is pinned, but no worker`);
  }
  return resolveWorker(request, workerId, dpRank, candidates);
}

function resolveWorker(
  request: SelectionRequest,
  workerId: WorkerId,
  dpRank: number | undefined,
  candidates: readonly WorkerCandidate[],
): ResolvedPin {
  const ranks = candidates.filter((candidate) => candidate.workerId === workerId);
  const only = ranks[0];
  if (only === undefined) return invalid("unknown_worker", `there is no worker ${workerId}`);
  if (request.allowedWorkers?.has(workerId) === false) {
    return invalid("not_allowed", `worker ${workerId} is pinned, but not allowed`);
  }
  if (dpRank === undefined) {
    return ranks.length === 1
      ? { kind: "pinned", workerId, dpRank: only.dpRank }
      : invalid("rank_required", `worker ${workerId} has ${ranks.length} ranks: name one`);
  }
  return ranks.some((candidate) => candidate.dpRank === dpRank)
    ? { kind: "pinned", workerId, dpRank }
    : invalid("rank_out_of_range", `worker ${workerId} has no rank ${dpRank}`);
}

function nobodyNamed({ stage }: SelectionRequest): ResolvedPin {
  const text = `the router mode does not choose: the request must name its ${stage} worker`;
  return invalid("pin_required", text);
}

function invalid(fault: PinFault, text: string): ResolvedPin {
  return { kind: "invalid", fault, text };
}
