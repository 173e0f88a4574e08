import type { WorkerSetFacts } from "./worker-sets.ts";

/** Names a prefill set as the target of a route. It stays the same while the set's workers come and go. */
export type TargetKey = string;

/** Where prefills of a model may go. */
export type ActivationTarget =
  | {
      readonly kind: "target";
      readonly key: TargetKey;
      readonly prefill: WorkerSetFacts;
      readonly decode: WorkerSetFacts;
    }
  | { readonly kind: "none"; readonly prefillSets: number; readonly decodeSets: number };

/** The target of a model in a namespace: there is one if exactly one prefill set and exactly one decode set live. */
export function activationTarget(sets: readonly WorkerSetFacts[]): ActivationTarget {
  const prefillSets = liveSets(sets, "prefill");
  const decodeSets = liveSets(sets, "decode");
  const [prefill] = prefillSets;
  const [decode] = decodeSets;
  if (
    prefill === undefined ||
    decode === undefined ||
    prefillSets.length + decodeSets.length !== 2
  ) {
    return { kind: "none", prefillSets: prefillSets.length, decodeSets: decodeSets.length };
  }
  return { kind: "target", key: prefill.set, prefill, decode };
}

/** The sets of a type that have a live worker. */
export function liveSets(
  sets: readonly WorkerSetFacts[],
  workerType: WorkerSetFacts["workerType"],
): readonly WorkerSetFacts[] {
  return sets.filter((set) => set.workerType === workerType && set.live > 0);
}
