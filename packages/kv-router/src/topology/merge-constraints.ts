import type { RoutingConstraints } from "@baton/protocol";

/** Constraints that constrain nothing. */
export const noConstraints: RoutingConstraints = { requiredTaints: [], preferredTaints: {} };

/** Both sets of constraints at once: everything that either requires; where both prefer a taint, `later` gives the weight. */
export function mergeConstraints(
  earlier: RoutingConstraints | undefined,
  later: RoutingConstraints | undefined,
): RoutingConstraints {
  if (earlier === undefined) return later ?? noConstraints;
  if (later === undefined) return earlier;
  return {
    requiredTaints: [...new Set([...earlier.requiredTaints, ...later.requiredTaints])],
    preferredTaints: { ...earlier.preferredTaints, ...later.preferredTaints },
  };
}
