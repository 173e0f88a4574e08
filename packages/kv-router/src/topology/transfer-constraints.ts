import type { RoutingConstraints } from "@baton/protocol";
import { topologyTaint } from "./taints.ts";

/** What a prefill worker's registration says about where its KV may go. A registration is one of these. */
export interface TransferFacts {
  /** Domain to value. */
  readonly topology: Readonly<Record<string, string>>;
  readonly kvTransfer: KvTransferRule | null;
}

interface KvTransferRule {
  readonly domain: string;
  readonly enforcement?: "required" | "preferred" | null;
  readonly preferredWeight?: number | null;
}

/** Why no constraints can be derived. Each fails the request before its prefill is sent. */
export type TransferFault =
  | "worker_facts_missing"
  | "domain_unknown"
  | "enforcement_missing"
  | "weight_missing";

/** The constraints that a chosen prefill worker puts on the decode leg. */
export type TransferConstraints =
  | { readonly kind: "unconstrained" }
  | {
      readonly kind: "constrained";
      readonly domain: string;
      readonly value: string;
      readonly constraints: RoutingConstraints;
    }
  | { readonly kind: "error"; readonly fault: TransferFault; readonly text: string };

const unconstrained: TransferConstraints = { kind: "unconstrained" };

/**
 * Derives the decode leg's constraints from the chosen prefill worker. `worker` is undefined when its facts are
 * not known; `group` is what is known of all workers of its set: one that requires a domain turns unknown facts
 * into an error, since KV could otherwise leave the domain.
 */
export function deriveTransferConstraints(
  worker: TransferFacts | undefined,
  group: readonly TransferFacts[],
): TransferConstraints {
  if (worker === undefined) {
    return group.some((member) => member.kvTransfer?.enforcement === "required")
      ? fault("worker_facts_missing", "the prefill worker's transfer domain is not known")
      : unconstrained;
  }
  return worker.kvTransfer === null
    ? unconstrained
    : constraintsOf(worker.kvTransfer, worker.topology);
}

function constraintsOf(
  rule: KvTransferRule,
  topology: Readonly<Record<string, string>>,
): TransferConstraints {
  const { domain, enforcement, preferredWeight } = rule;
  if (!Object.hasOwn(topology, domain)) {
    return fault("domain_unknown", `the prefill worker has no place in its domain "${domain}"`);
  }
  const value = topology[domain]!;
  const taint = topologyTaint(domain, value);
  switch (enforcement) {
    case "required":
      return constrained(domain, value, { requiredTaints: [taint], preferredTaints: {} });
    case "preferred":
      return typeof preferredWeight === "number" && Number.isFinite(preferredWeight)
        ? constrained(domain, value, {
            requiredTaints: [],
            preferredTaints: { [taint]: preferredWeight },
          })
        : fault("weight_missing", `the preference for domain "${domain}" has no weight`);
    default:
      return fault("enforcement_missing", `domain "${domain}" has no enforcement`);
  }
}

function constrained(
  domain: string,
  value: string,
  constraints: RoutingConstraints,
): TransferConstraints {
  return { kind: "constrained", domain, value, constraints };
}

function fault(code: TransferFault, text: string): TransferConstraints {
  return { kind: "error", fault: code, text };
}
