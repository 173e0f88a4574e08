import type { ActivationState, WorkerType } from "@baton/protocol";
import { activationTarget, liveSets } from "./activation.ts";
import { needsNobody, unmetNeeds, type WorkerSetFacts } from "./worker-sets.ts";

/** How a model's requests are served. */
export type ServingMode = "disaggregated" | "aggregated" | "decode-only";

/** How a model's requests are served, or that they are not, and whether that is only until a route is built. */
export type ServingOutcome =
  | { readonly kind: "serving"; readonly mode: ServingMode }
  | { readonly kind: "activating" }
  | { readonly kind: "not_ready" };

/**
 * Disaggregated while a prefill target is active, else aggregated, else decode-only if no decode worker needs
 * peers; never beside two sets of one disaggregated role. A target whose route is not built yet is never passed by
 * for decode-only. `activation` is what a router says; without it a route counts as built.
 */
export function servingMode(
  sets: readonly WorkerSetFacts[],
  activation: ActivationState = "active",
): ServingOutcome {
  if (ambiguousTypes(sets).length > 0) return { kind: "not_ready" };
  const present = presentTypes(sets);
  const isMet = (set: WorkerSetFacts) => unmetNeeds(set.needs, present).length === 0;
  const target = activationTarget(sets);
  const hasTarget = target.kind === "target" && isMet(target.prefill) && isMet(target.decode);
  if (hasTarget && activation === "active") return serving("disaggregated");
  if (liveSets(sets, "aggregated").some(isMet)) return serving("aggregated");
  if (hasTarget) return { kind: "activating" };
  const decodeSets = liveSets(sets, "decode");
  const isDecodeOnly = decodeSets.length > 0 && decodeSets.every((set) => needsNobody(set.needs));
  return isDecodeOnly ? serving("decode-only") : { kind: "not_ready" };
}

/** The disaggregated roles with more than one live set. */
export function ambiguousTypes(sets: readonly WorkerSetFacts[]): readonly WorkerType[] {
  return (["prefill", "decode"] as const).filter((type) => liveSets(sets, type).length > 1);
}

/** The types of which a worker lives. */
export function presentTypes(sets: readonly WorkerSetFacts[]): ReadonlySet<WorkerType> {
  return new Set(sets.filter((set) => set.live > 0).map((set) => set.workerType));
}

function serving(mode: ServingMode): ServingOutcome {
  return { kind: "serving", mode };
}
