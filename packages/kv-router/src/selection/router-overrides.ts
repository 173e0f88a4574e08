import type { DecodeOverrides } from "@baton/protocol";

/** Settings of KV-aware selection that one request may change. What is absent keeps the router's own value. */
export interface RouterOverrides {
  /** How much of an overlap counts; 0 or more. */
  readonly overlapScoreCredit?: number;
  /** Weight of the prefill term; 0 or more. */
  readonly prefillLoadScale?: number;
  /** Softmax temperature over costs; 0 or more. */
  readonly routerTemperature?: number;
  /** Whether equal prefixes of active requests count once. */
  readonly assumeKvReuse?: boolean;
  /** Whether prompt tokens still to be computed count as load. */
  readonly trackPrefillTokens?: boolean;
  /** Weight of blocks in a shared cache; 0 to 1. */
  readonly sharedCacheMultiplier?: number;
}

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
