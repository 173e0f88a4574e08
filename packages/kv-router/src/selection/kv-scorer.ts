/** Hot path: `cost` runs once per candidate. Bench: bench/selection/select.bench.ts */
import { cachedTokensOf } from "./effective-overlap.ts";
import type { KvCostOptions, LoadTrackingOptions } from "./policy-options.ts";
import type { Choice, Scorer, TierWeights } from "./selection-policy.ts";
import type { SelectionRequest, WorkerCandidate } from "./worker-selector.ts";

/** A factor above is taken for it: whatever a client asks for, costs stay finite, and the dearer stays the dearer. */
const greatestFactor = 1e200;

/**
 * What a candidate pays for a request, in blocks: the prompt that it must compute behind the prompts that wait, less what it
 * holds of it, and the blocks that are active on it (`dynamo-semantics` 3.6). Beyond that, a block that must be computed anew
 * weighs more than one that waits: it costs its turn now, and later the room of a second copy (ADR 10).
 */
export class KvScorer implements Scorer {
  readonly name = "kv";
  readonly #options: KvCostOptions;
  readonly #tracking: LoadTrackingOptions;
  readonly #weights: TierWeights;
  readonly #requestWeight: number;
  readonly #uncachedWeight: number;
  // What one choice is made with; set by `begin`.
  #promptTokens = 0;
  #blockSize = 1;
  #scale = 1;
  #deviceCredit = 1;
  #decayPerToken = 0;
  #leastPrefillTokens = 0;
  #requestBlocks = 0;
  #tracksBlocks = true;
  #tracksPrefill = true;
  #sharesBlocks = true;
  #creditsDecode = false;

  constructor(options: KvCostOptions, tracking: LoadTrackingOptions) {
    this.#options = options;
    this.#requestWeight = factorOf(options.decodeActiveRequestWeight);
    this.#uncachedWeight = factorOf(options.uncachedPrefillWeight);
    this.#tracking = tracking;
    this.#weights = { host: options.hostCacheHitWeight, disk: options.diskCacheHitWeight };
  }

  begin({ request, eligible }: Choice): void {
    const { overrides, stage, promptTokens, blockSize, promptBlocks } = request;
    this.#promptTokens = promptTokens;
    this.#blockSize = blockSize;
    this.#scale = factorOf(overrides?.prefillLoadScale ?? this.#options.prefillLoadScale);
    this.#deviceCredit = factorOf(
      overrides?.overlapScoreCredit ?? this.#options.overlapScoreCredit,
    );
    this.#tracksPrefill = overrides?.trackPrefillTokens ?? this.#tracking.trackPrefillTokens;
    // A prefill stage counts no blocks: what it computes is handed on.
    this.#tracksBlocks = this.#tracking.trackActiveBlocks && stage !== "prefill";
    this.#sharesBlocks = overrides?.assumeKvReuse ?? this.#tracking.assumeKvReuse;
    this.#requestBlocks = promptBlocks;
    this.#creditsDecode = stage === "decode" && !this.#tracksPrefill && this.#deviceCredit > 0;
    this.#decayPerToken = this.#tracksPrefill ? this.#decayOf(request) : 0;
    this.#leastPrefillTokens = this.#decayPerToken > 0 ? leastPrefillTokens(eligible) : 0;
  }

  cost(candidate: WorkerCandidate): number {
    const credit = this.#credit(candidate);
    const decode = this.#decodeBlocks(candidate);
    const requests = this.#requestWeight * candidate.requestsInFlight;
    if (this.#creditsDecode) return Math.max(0, decode - credit) + requests;
    if (!this.#tracksPrefill) return decode + requests;
    const cached = this.#cachedTokens(candidate);
    const waiting = Math.max(0, this.#prefillBlocks(candidate, cached) - credit);
    const anew = this.#uncachedWeight * this.#uncachedBlocks(cached);
    return this.#scale * (waiting + anew) + decode + requests;
  }

  terms(candidate: WorkerCandidate): Readonly<Record<string, number>> {
    const cached = this.#cachedTokens(candidate);
    return {
      active_prefill_tokens: candidate.activePrefillTokens,
      cached_tokens: cached,
      raw_prefill_blocks: this.#tracksPrefill ? this.#prefillBlocks(candidate, cached) : 0,
      prefill_load_scale: this.#scale,
      uncached_blocks: this.#tracksPrefill ? this.#uncachedBlocks(cached) : 0,
      uncached_prefill_weight: this.#uncachedWeight,
      device_overlap_blocks: candidate.overlapBlocks,
      host_overlap_blocks: candidate.hostOverlapBlocks,
      disk_overlap_blocks: candidate.diskOverlapBlocks,
      overlap_score_credit: this.#deviceCredit,
      decay: this.#decay(candidate),
      credit_blocks: this.#credit(candidate),
      decode_blocks: this.#decodeBlocks(candidate),
      active_requests: candidate.requestsInFlight,
      active_request_weight: this.#requestWeight,
    };
  }

  /** By how much of the credit each prompt token beyond the least takes away. */
  #decayOf({ promptTokens, blockSize }: SelectionRequest): number {
    const blocks = Math.max(1, Math.ceil(promptTokens / blockSize));
    return this.#options.overlapScoreCreditDecay / (blockSize * blocks);
  }

  #cachedTokens(candidate: WorkerCandidate): number {
    return cachedTokensOf(candidate, this.#blockSize, this.#weights);
  }

  /** The prompt behind the prompts that wait, as if nothing were cached. */
  #prefillBlocks(candidate: WorkerCandidate, cached: number): number {
    return (candidate.activePrefillTokens + Math.max(this.#promptTokens, cached)) / this.#blockSize;
  }

  /** What of the prompt would be computed anew. Nobody's cache counts without a credit for it. */
  #uncachedBlocks(cached: number): number {
    const counted = this.#deviceCredit > 0 ? cached : 0;
    return Math.max(0, this.#promptTokens - counted) / this.#blockSize;
  }

  #decay(candidate: WorkerCandidate): number {
    if (this.#decayPerToken === 0) return 1;
    const beyond = Math.max(0, candidate.activePrefillTokens - this.#leastPrefillTokens);
    return 1 / (1 + this.#decayPerToken * beyond);
  }

  #credit(candidate: WorkerCandidate): number {
    return (
      this.#deviceCredit * this.#decay(candidate) * candidate.overlapBlocks +
      this.#weights.host * candidate.hostOverlapBlocks +
      this.#weights.disk * candidate.diskOverlapBlocks
    );
  }

  /** Active blocks, with those of this request that are not among them. */
  #decodeBlocks(candidate: WorkerCandidate): number {
    if (!this.#tracksBlocks) return 0;
    const shared = this.#sharesBlocks ? candidate.bookedOverlapBlocks : 0;
    return candidate.bookedBlocks + this.#requestBlocks - shared;
  }
}

function factorOf(factor: number): number {
  return Math.min(factor, greatestFactor);
}

function leastPrefillTokens(candidates: readonly WorkerCandidate[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < candidates.length; index++) {
    const tokens = candidates[index]!.activePrefillTokens;
    if (tokens < least) least = tokens;
  }
  return Number.isFinite(least) ? least : 0;
}
