import type { DecodeOverrides, RouterOverrides } from "@baton/protocol";
import { kvParameter, type ParameterFault, rangeFault } from "./policy-parameters.ts";

/**
 * The overrides of a decode leg that follows a remote prefill: the KV arrives with the request, so neither a
 * prefix held by the worker nor prompt tokens are a reason to choose it.
 */
export function decodeOverrides(): DecodeOverrides {
  return { overlapScoreCredit: 0, assumeKvReuse: false, trackPrefillTokens: false };
}

/**
 * Puts the decode overrides over a request's own, which stay in the other fields. With conditional
 * disaggregation the overlap credit is left alone as well. Only for a decode leg whose prefill really ran.
 */
export function mergeDecodeOverrides(
  own: RouterOverrides | undefined,
  conditionalDisaggregation: boolean,
): RouterOverrides {
  const { overlapScoreCredit, ...forced } = decodeOverrides();
  return conditionalDisaggregation
    ? { ...own, ...forced }
    : { ...own, ...forced, overlapScoreCredit };
}

/** The first override that is out of its range, if any. A client's fault: `invalid_request`. */
export function checkRouterOverrides(overrides: RouterOverrides): ParameterFault | undefined {
  for (const [key, name] of numericOverrides) {
    const value = overrides[key];
    const text = value === undefined ? undefined : rangeFault(kvParameter(name), value);
    if (text !== undefined) return { name, text };
  }
  return undefined;
}

const numericOverrides = [
  ["overlapScoreCredit", "overlap_score_credit"],
  ["prefillLoadScale", "prefill_load_scale"],
  ["routerTemperature", "router_temperature"],
] as const;
