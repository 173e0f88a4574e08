import type { RoutingRules } from "@baton/protocol";
import type { SelectionRequest } from "./worker-selector.ts";

/** What a request's rules say about one leg, in the form that selection takes. Decode-only and aggregated work is `decode`. */
export function selectionRules(
  rules: RoutingRules | null,
  leg: "prefill" | "decode",
): Pick<SelectionRequest, "constraints" | "allowedWorkers" | "pin"> {
  if (rules === null) return {};
  const workerId = leg === "prefill" ? rules.prefillWorkerId : rules.decodeWorkerId;
  const dpRank = leg === "prefill" ? rules.prefillDpRank : rules.decodeDpRank;
  const hasPin = workerId !== undefined || dpRank !== undefined;
  return {
    ...(rules.constraints !== undefined && { constraints: rules.constraints }),
    ...(rules.allowedWorkers !== undefined && { allowedWorkers: new Set(rules.allowedWorkers) }),
    ...(hasPin && {
      pin: { ...(workerId !== undefined && { workerId }), ...(dpRank !== undefined && { dpRank }) },
    }),
  };
}
