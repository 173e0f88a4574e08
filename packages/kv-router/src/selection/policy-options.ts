/** Weights of the default cost (`dynamo-semantics` 3.6). */
export interface KvCostOptions {
  /** How much a block on the device counts; 0 or more, default 1. */
  readonly overlapScoreCredit: number;
  /** How fast the credit fades on ranks with more prefill to do than the least; 0 or more, default 0. */
  readonly overlapScoreCreditDecay: number;
  /** Weight of the prefill term; 0 or more, default 4. */
  readonly prefillLoadScale: number;
  /** Weight, beyond its own, of a block that must be computed anew; 0 or more, default 6. */
  readonly uncachedPrefillWeight: number;
  /** Cost of each active request, blocks; 0 or more, default 0. */
  readonly decodeActiveRequestWeight: number;
  /** Credit of a block in host memory, 0 to 1, default 0.75. */
  readonly hostCacheHitWeight: number;
  /** Credit of a block on disk, 0 to 1, default 0.25. */
  readonly diskCacheHitWeight: number;
  /** Softmax temperature over costs; 0, the default, takes the cheapest. */
  readonly routerTemperature: number;
}

/** What a router keeps count of (`dynamo-semantics` 3.7). */
export interface LoadTrackingOptions {
  /** Whether blocks of active requests count. Default true; a prefill stage never does. */
  readonly trackActiveBlocks: boolean;
  /** Whether equal prefixes of active requests count once. Default true. */
  readonly assumeKvReuse: boolean;
  /** Whether blocks of the output count as it grows. Default false; needs `trackActiveBlocks`. */
  readonly trackOutputBlocks: boolean;
  /** Whether prompt tokens still to be computed count. Default true. */
  readonly trackPrefillTokens: boolean;
}

/** From when on a rank counts as overloaded (`dynamo-semantics` 3.10). Null is never. */
export interface BusyThresholds {
  /** Share of the rank's blocks, 0 to 1. */
  readonly activeDecodeBlocksThreshold: number | null;
  /** Prompt tokens still to be computed. */
  readonly activePrefillTokensThreshold: number | null;
  /** The same as a share of the worker's tokens of one pass, 0 or more. */
  readonly activePrefillTokensThresholdFrac: number | null;
}

/** The values where nothing is said. */
export const defaultKvCostOptions: KvCostOptions = {
  overlapScoreCredit: 1,
  overlapScoreCreditDecay: 0,
  prefillLoadScale: 4,
  uncachedPrefillWeight: 6,
  decodeActiveRequestWeight: 0,
  hostCacheHitWeight: 0.75,
  diskCacheHitWeight: 0.25,
  routerTemperature: 0,
};

/** The values where nothing is said. */
export const defaultLoadTracking: LoadTrackingOptions = {
  trackActiveBlocks: true,
  assumeKvReuse: true,
  trackOutputBlocks: false,
  trackPrefillTokens: true,
};

/** No threshold. */
export const noBusyThresholds: BusyThresholds = {
  activeDecodeBlocksThreshold: null,
  activePrefillTokensThreshold: null,
  activePrefillTokensThresholdFrac: null,
};
