import type { ActivationState } from "@baton/protocol";
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

/** A prefill route's life. `binding` is what has been built for a target; it outlives the target. */
export interface Activation {
  readonly phase: "pending" | "active" | "unavailable";
  readonly target: TargetKey | undefined;
  readonly binding: TargetKey | undefined;
}

/** A route that has never had a target. */
export const initialActivation: Activation = {
  phase: "pending",
  target: undefined,
  binding: undefined,
};

/**
 * Gives the route another target, undefined for none. None makes it unavailable at once and keeps the binding; the
 * target of the kept binding makes it active at once; any other drops the binding and is pending until built.
 */
export function setTarget(activation: Activation, target: TargetKey | undefined): Activation {
  if (target === activation.target) return activation;
  if (target === undefined) return { ...activation, phase: "unavailable", target };
  return target === activation.binding
    ? { ...activation, phase: "active", target }
    : { phase: "pending", target, binding: undefined };
}

/** Says that the binding for `target` has been built. Nothing changes when another target is wanted by now. */
export function bindingBuilt(activation: Activation, target: TargetKey): Activation {
  return target === activation.target ? { phase: "active", target, binding: target } : activation;
}

/** The target whose binding has to be built, if any. */
export function targetToBuild({ target, binding }: Activation): TargetKey | undefined {
  return target === binding ? undefined : target;
}

/** What a request meets: the prefill hop, a refusal until the route is built, or the decode path. */
export function routeOf({
  phase,
  target,
}: Activation): "prefill" | "prefill_activating" | "decode" {
  if (target === undefined) return "decode";
  return phase === "active" ? "prefill" : "prefill_activating";
}

/** What `status` shows. A model without decode set has no prefill route, unless it has had one. */
export function reportedActivation(
  { phase, target }: Activation,
  sets: readonly WorkerSetFacts[],
): ActivationState {
  const isUnused = phase === "pending" && target === undefined;
  return isUnused && !sets.some((set) => set.workerType === "decode") ? "none" : phase;
}

/** The sets of a type that have a live worker. */
export function liveSets(
  sets: readonly WorkerSetFacts[],
  workerType: WorkerSetFacts["workerType"],
): readonly WorkerSetFacts[] {
  return sets.filter((set) => set.workerType === workerType && set.live > 0);
}
