import type { SelectionRequest, WorkerCandidate } from "../selection/worker-selector.ts";
import { satisfies } from "../topology/taints.ts";
import type { SessionTarget } from "./session-table.ts";

/** What a session's rank is to its requests: a rule (`hard`), or a wish while it can be met (`soft`). */
export const affinityModes = ["hard", "soft"] as const;
/** One of the modes. */
export type AffinityMode = (typeof affinityModes)[number];

/** What a binding adds to a request. */
export type SessionRule =
  /** Put over the request: empty if the request's own pin says all. */
  | { readonly kind: "rule"; readonly rule: Pick<SelectionRequest, "pin" | "preferred"> }
  /** The rank is gone or may not be chosen: the holder abandons it and chooses anew. */
  | { readonly kind: "stale" }
  /** The client's fault: it pins another rank than the one that its session is bound to. */
  | { readonly kind: "contradiction"; readonly text: string };

const nothing: SessionRule = { kind: "rule", rule: {} };
const stale: SessionRule = { kind: "stale" };

/**
 * What the session's rank means to a request. A pin beats it; a pin without rank takes the session's if it names the same
 * worker. A rank that the request's own rules exclude counts as gone: KV that must stay in a domain, say, can no longer
 * get there. One that is only busy stays.
 */
export function applySession(
  mode: AffinityMode,
  target: SessionTarget,
  request: Pick<SelectionRequest, "pin" | "allowedWorkers" | "constraints">,
  candidates: readonly WorkerCandidate[],
): SessionRule {
  const { workerId, dpRank } = target;
  const candidate = candidates.find(
    (known) => known.workerId === workerId && known.dpRank === dpRank,
  );
  if (candidate === undefined || candidate.generation !== target.generation) return stale;
  if (candidate.draining) return stale;
  const { pin } = request;
  if (pin !== undefined) return withPin(mode, target, pin);
  const isAllowed = request.allowedWorkers?.has(workerId) !== false;
  if (!isAllowed || !satisfies(candidate.taints, request.constraints)) return stale;
  const rank = { workerId, dpRank };
  return { kind: "rule", rule: mode === "hard" ? { pin: rank } : { preferred: rank } };
}

function withPin(
  mode: AffinityMode,
  { workerId, dpRank }: SessionTarget,
  pin: NonNullable<SelectionRequest["pin"]>,
): SessionRule {
  // A rank without a worker is refused by selection.
  if (pin.workerId === undefined) return nothing;
  const isSame = pin.workerId === workerId && (pin.dpRank ?? dpRank) === dpRank;
  if (isSame) return { kind: "rule", rule: { pin: { workerId, dpRank } } };
  return mode === "soft"
    ? nothing
    : {
        kind: "contradiction",
        text: `worker ${nameOf(pin)} is pinned, but the session is bound to ${nameOf({ workerId, dpRank })}`,
      };
}

function nameOf({ workerId, dpRank }: { readonly workerId?: string; readonly dpRank?: number }) {
  return dpRank === undefined ? `${workerId}` : `${workerId} rank ${dpRank}`;
}
