import type { CandidateExplanation, SelectionExplanation, WorkerCandidate } from "@baton/kv-router";
import {
  type ActorId,
  type RouteExplained,
  ServingError,
  toWireError,
  type WorkerId,
  type WorkerType,
} from "@baton/protocol";
import type { Chosen, DeskPolicy, DeskRequest } from "./desk-policy.ts";
import type { Pool, PoolRequest } from "./pool.ts";
import { refusalOf } from "./refusal.ts";

/** What an explanation is made of. */
export interface ExplainDeps<Request extends DeskRequest> {
  readonly request: Request;
  readonly policy: DeskPolicy<Request>;
  readonly routerId: ActorId;
  readonly pool: Pool;
  readonly asked: PoolRequest;
  /** In [0, 1). */
  readonly random: number;
}

/** Where a request would go, and why. Changes nothing, not even the session that the request names. */
export function explainRoute<Request extends DeskRequest>(
  deps: ExplainDeps<Request>,
): RouteExplained {
  const { request, policy, pool, asked, random, routerId } = deps;
  const all = pool.core.candidates(pool.workerType);
  const narrowed = policy.narrow?.(request, all) ?? all;
  const session = pool.sessions.peek(request.rules?.session, asked, narrowed);
  const rule = session.kind === "choose" ? session.rule : {};
  const explanation = pool.explain({ ...asked, ...rule }, random, () => narrowed);
  const { selection, candidates, ignored } = explanation;
  const refusal = session.kind === "refused" ? session.error : whyRefused(deps, selection);
  const chosen = selection.kind === "selected" && refusal === null ? selection : null;
  return {
    routerId,
    mode: pool.mode,
    candidates: [...candidates, ...leftOut(deps, rule, narrowed)].map((candidate) =>
      candidateOf(candidate, pool.workerType),
    ),
    selected: chosen === null ? null : selectedOf(chosen),
    refusal: refusal === null ? null : wireErrorOf(refusal),
    decodeConstraints: chosen === null ? null : constraintsAfter(deps, chosen.workerId),
    ignored: [...ignored],
  };
}

/** The answer when nothing can be said but why. */
export function unexplained(routerId: ActorId, error: ServingError): RouteExplained {
  return {
    routerId,
    mode: "none",
    candidates: [],
    selected: null,
    refusal: wireErrorOf(error),
    decodeConstraints: null,
    ignored: [],
  };
}

/** Those that only the role leaves out, with what they would cost. */
function leftOut<Request extends DeskRequest>(
  { pool, asked, random }: ExplainDeps<Request>,
  rule: Pick<PoolRequest, "pin" | "preferred">,
  narrowed: readonly WorkerCandidate[],
): readonly CandidateExplanation[] {
  const kept = new Set(narrowed);
  const others = (all: readonly WorkerCandidate[]) => all.filter((each) => !kept.has(each));
  if (others(pool.core.candidates(pool.workerType)).length === 0) return [];
  const { candidates } = pool.explain({ ...asked, ...rule }, random, others);
  return candidates.map((each) =>
    each.eligible ? { ...each, eligible: false, why: "filtered" } : each,
  );
}

/** The error that the real request would get before it is sent on. */
function whyRefused<Request extends DeskRequest>(
  { request, policy, pool }: ExplainDeps<Request>,
  selection: SelectionExplanation["selection"],
): ServingError | null {
  if (selection.kind !== "selected") return refusalOf(selection, policy.isStaged(request));
  const worker = pool.worker(selection.workerId);
  if (worker === undefined) return null;
  try {
    policy.command(request, selection, worker);
    return null;
  } catch (error) {
    return ServingError.from(error);
  }
}

function wireErrorOf(error: ServingError): RouteExplained["refusal"] {
  const [code, message, details] = toWireError(error);
  return [code, message, { ...details }];
}

function constraintsAfter<Request extends DeskRequest>(
  { policy }: ExplainDeps<Request>,
  workerId: WorkerId,
): RouteExplained["decodeConstraints"] {
  const next = policy.nextConstraints?.(workerId) ?? null;
  if (next === null) return null;
  return {
    requiredTaints: [...next.requiredTaints],
    preferredTaints: { ...next.preferredTaints },
  };
}

function selectedOf({ kind: _, cachedTokens: _cached, ...selected }: Chosen) {
  return selected;
}

function candidateOf(
  candidate: CandidateExplanation,
  workerType: WorkerType,
): RouteExplained["candidates"][number] {
  const { workerId, generation, dpRank, eligible, why, cost, terms, overlapBlocks } = candidate;
  return {
    workerId,
    workerType,
    generation,
    dpRank,
    eligible,
    why: why ?? null,
    cost: Number.isFinite(cost) ? cost : null,
    terms: Object.fromEntries(Object.entries(terms).filter(([, value]) => Number.isFinite(value))),
    overlapBlocks,
  };
}
