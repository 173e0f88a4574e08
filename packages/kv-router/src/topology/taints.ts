import type { RoutingConstraints } from "@baton/protocol";

const topologyPrefix = "baton.topology/";

/** The taint that stands for a worker's place in a topology domain. */
export function topologyTaint(domain: string, value: string): string {
  return `${topologyPrefix}${domain}=${value}`;
}

/** The domain of a topology taint; undefined for any other taint. */
export function topologyDomain(taint: string): string | undefined {
  if (!taint.startsWith(topologyPrefix)) return undefined;
  const end = taint.indexOf("=", topologyPrefix.length);
  return end < 0 ? undefined : taint.slice(topologyPrefix.length, end);
}

/** All taints of a worker: those it registered and its places in the topology. */
export function workerTaints(worker: {
  readonly taints: readonly string[];
  readonly topology: Readonly<Record<string, string>>;
}): ReadonlySet<string> {
  const taints = new Set(worker.taints);
  for (const [domain, value] of Object.entries(worker.topology)) {
    taints.add(topologyTaint(domain, value));
  }
  return taints;
}

/** The required taints that are not among a worker's. */
export function missingTaints(
  taints: ReadonlySet<string>,
  constraints: RoutingConstraints | undefined,
): readonly string[] {
  return constraints?.requiredTaints.filter((taint) => !taints.has(taint)) ?? [];
}

/** Whether a worker with these taints has all that is required. */
export function satisfies(
  taints: ReadonlySet<string>,
  constraints: RoutingConstraints | undefined,
): boolean {
  if (constraints === undefined) return true;
  for (const taint of constraints.requiredTaints) {
    if (!taints.has(taint)) return false;
  }
  return true;
}

/** Preferred taints with their weights, taken out of the constraints once per choice. */
export type Preferences = readonly (readonly [taint: string, weight: number])[];

/** The preferred taints of constraints. */
export function preferencesOf(constraints: RoutingConstraints | undefined): Preferences {
  return constraints === undefined ? [] : Object.entries(constraints.preferredTaints);
}

/**
 * What the preferred taints multiply a cost by: `exp(-tanh(sum of the weights the worker has))`, so 1 without
 * any, about 0.37 for strong attraction, about 2.72 for strong repulsion (negative weights).
 */
export function preferenceFactor(taints: ReadonlySet<string>, preferences: Preferences): number {
  let sum = 0;
  for (const [taint, weight] of preferences) {
    if (taints.has(taint)) sum += weight;
  }
  return sum === 0 ? 1 : Math.exp(-Math.tanh(sum));
}
