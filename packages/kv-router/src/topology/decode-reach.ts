import { exclusionOf } from "../selection/eligibility.ts";
import { describeTaints } from "../selection/selection-detail.ts";
import { type PinFault, resolvePin } from "../selection/worker-pin.ts";
import type { SelectionRequest, WorkerCandidate } from "../selection/worker-selector.ts";
import { missingTaints, topologyDomain } from "./taints.ts";

/** Whether the KV of a prefill can get to any decode worker. */
export type DecodeReach =
  | { readonly kind: "reachable" }
  | {
      readonly kind: "unreachable";
      /** Topology domains in which no decode worker is at the required place. */
      readonly domains: readonly string[];
      /** Required taints that the closest decode worker lacks. */
      readonly missingTaints: readonly string[];
      /** What is wrong with the decode leg's pin: then it is the client's fault. Null if nothing is. */
      readonly pinFault: PinFault | null;
      readonly text: string;
    };

const reachable: DecodeReach = { kind: "reachable" };

/**
 * Checks, before a prefill is dispatched, that some decode worker meets the decode leg's rules: constraints, pin
 * and allow-list, the transfer constraints merged in. Load does not count: a busy worker is free again when the
 * prefill is done. `needsPin`: decode's mode never chooses, so a request that names nobody is at fault now and not later.
 */
export function checkDecodeReach(
  decodeRequest: SelectionRequest,
  decodeCandidates: readonly WorkerCandidate[],
  needsPin = false,
): DecodeReach {
  const pin = resolvePin(decodeRequest, decodeCandidates, needsPin);
  if (pin.kind === "invalid") return unreachable([], pin.text, pin.fault);
  let closest: readonly string[] | undefined;
  for (const candidate of decodeCandidates) {
    const exclusion = exclusionOf(decodeRequest, pin, candidate);
    if (exclusion === undefined) return reachable;
    if (exclusion !== "missing_taint") continue;
    const missing = missingTaints(candidate.taints, decodeRequest.constraints);
    if (closest === undefined || missing.length < closest.length) closest = missing;
  }
  return closest === undefined
    ? unreachable([], "no decode worker can take the request")
    : unreachable(closest, `no decode worker has ${describeTaints(closest)}`);
}

function unreachable(
  missing: readonly string[],
  text: string,
  pinFault: PinFault | null = null,
): DecodeReach {
  const domains = missing.flatMap((taint) => topologyDomain(taint) ?? []);
  return { kind: "unreachable", domains, missingTaints: missing, pinFault, text };
}
