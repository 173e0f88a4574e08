import type { DecodeOverrides, RouterOverrides } from "@baton/protocol";

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
