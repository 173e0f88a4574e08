import type { ActivationState, Why, WorkerType } from "@baton/protocol";
import { liveSets } from "./activation.ts";
import { ambiguousTypes, presentTypes, type ServingMode, servingMode } from "./serving-mode.ts";
import { unmetNeeds, type WorkerSetFacts } from "./worker-sets.ts";

/** Whether a model can be served, and if not, what is in the way. */
export interface ModelReadiness {
  readonly ready: boolean;
  /** Absent when not ready. */
  readonly mode?: ServingMode;
  /** Absent when ready. */
  readonly why?: Why;
  /** Types that live workers wait for, whether the model is ready or not. */
  readonly missing: readonly WorkerType[];
  /** Disaggregated roles with more than one live set. */
  readonly ambiguous: readonly WorkerType[];
}

/**
 * Judges the sets of one model in one namespace. Without `activation` a prefill route counts as built, as it must
 * for whoever does not serve it.
 */
export function modelReadiness(
  sets: readonly WorkerSetFacts[],
  activation?: ActivationState,
): ModelReadiness {
  const missing = missingTypes(sets);
  const ambiguous = ambiguousTypes(sets);
  const outcome = servingMode(sets, activation);
  switch (outcome.kind) {
    case "serving":
      return { ready: true, mode: outcome.mode, missing, ambiguous };
    case "activating": {
      const why: Why = { code: "activating", text: "the prefill route is being built" };
      return { ready: false, why, missing, ambiguous };
    }
    case "not_ready":
      return { ready: false, why: whyNotReady(sets, missing, ambiguous), missing, ambiguous };
  }
}

function missingTypes(sets: readonly WorkerSetFacts[]): readonly WorkerType[] {
  const present = presentTypes(sets);
  const missing = new Set(
    sets.filter((set) => set.live > 0).flatMap((set) => unmetNeeds(set.needs, present)),
  );
  // Prefill workers alone serve nothing, whatever they say they need.
  if (present.size === 1 && present.has("prefill")) missing.add("decode");
  return [...missing].sort();
}

function whyNotReady(
  sets: readonly WorkerSetFacts[],
  missing: readonly WorkerType[],
  ambiguous: readonly WorkerType[],
): Why {
  if (ambiguous.length > 0) return ambiguousSets(sets, ambiguous);
  const isIdle = sets.every((set) => set.live === 0);
  const conflict = sets.find(
    (set) => set.conflicts.length > 0 && (isIdle || missing.includes(set.workerType)),
  );
  if (conflict !== undefined) {
    const fields = conflict.conflicts.join(", ");
    const text = `${conflict.workerType} workers of set ${conflict.set} are refused: their ${fields} differ`;
    return { code: "card_conflict", text };
  }
  if (isIdle) return { code: "no_workers", text: "no worker is live" };
  const text = `missing worker types: ${missing.join(", ")}`;
  if (missing.includes("prefill")) return { code: "missing_prefill", text };
  if (missing.includes("decode")) return { code: "missing_decode", text };
  return { code: "no_workers", text };
}

function ambiguousSets(sets: readonly WorkerSetFacts[], ambiguous: readonly WorkerType[]): Why {
  const parts = ambiguous.map((type) => {
    const names = liveSets(sets, type).map(({ set }) => set);
    return `${type} (${names.join(", ")})`;
  });
  return { code: "ambiguous_sets", text: `more than one live set of: ${parts.join("; ")}` };
}
