import type { BookingId } from "@baton/protocol";
import type { RankSlot } from "../prefix-index/prefix-index.ts";
import type { LoadTrackingOptions } from "../selection/policy-options.ts";
import { ActiveBlocks, fullWeight } from "./active-blocks.ts";
import type { ActiveLoad, ActiveRequest } from "./active-load.ts";
import { type Prefill, PrefillLoad } from "./prefill-load.ts";

/** An empty count of what runs. Throws RangeError where output blocks are to be tracked without active blocks. */
export function createActiveLoad(tracking: LoadTrackingOptions): ActiveLoad {
  if (tracking.trackOutputBlocks && !tracking.trackActiveBlocks) {
    throw new RangeError("output blocks are tracked only together with active blocks");
  }
  return new RunningRequests(tracking);
}

/** One request, with what it holds. */
interface Running {
  readonly rank: RankSlot;
  readonly holder: number;
  /** Blocks that are known by their hashes. */
  readonly blocks: Uint32Array;
  /** Blocks of which only the number is known. */
  readonly anonymousBlocks: number;
  readonly prefill: Prefill | null;
  readonly promptTokens: number;
  readonly blockSize: number;
  readonly expectedOutputTokens: number | null;
  outputTokens: number;
  outputBlocks: number;
  weight: number;
}

const noBlocks = new Uint32Array();

class RunningRequests implements ActiveLoad {
  readonly #tracking: LoadTrackingOptions;
  readonly #running = new Map<BookingId, Running>();
  readonly #blocks = new ActiveBlocks();
  readonly #prefills = new PrefillLoad();
  readonly #freeHolders: number[] = [];
  #nextHolder = 0;
  /** By rank: requests, and the weight of the blocks that have no hashes. */
  #requests = new Uint32Array(64);
  #weights = new Float64Array(64);

  constructor(tracking: LoadTrackingOptions) {
    this.#tracking = tracking;
  }

  get size(): number {
    return this.#running.size;
  }

  get blocks(): number {
    return this.#blocks.size;
  }

  has(bookingId: BookingId): boolean {
    return this.#running.has(bookingId);
  }

  add(request: ActiveRequest): void {
    if (this.#running.has(request.bookingId)) return;
    const { rank, promptTokens, blockSize, expectedOutputTokens } = request;
    this.#openRank(rank);
    const holder = this.#freeHolders.pop() ?? this.#nextHolder++;
    this.#blocks.openHolder(holder);
    const { trackActiveBlocks } = this.#tracking;
    const isByHash = this.#isByHash(request);
    const anonymousBlocks = trackActiveBlocks && !isByHash ? request.blocks : 0;
    this.#running.set(request.bookingId, {
      rank,
      holder,
      blocks: isByHash
        ? this.#blocks.add(rank, holder, halvesOf(request.sequenceHashes))
        : noBlocks,
      anonymousBlocks,
      prefill: this.#startPrefill(request),
      promptTokens,
      blockSize,
      expectedOutputTokens,
      outputTokens: 0,
      outputBlocks: 0,
      weight: fullWeight,
    });
    this.#requests[rank] = this.#requests[rank]! + 1;
    this.#weights[rank] = this.#weights[rank]! + anonymousBlocks * fullWeight;
  }

  prefillCompleted(bookingId: BookingId, nowMs: number): void {
    const prefill = this.#running.get(bookingId)?.prefill;
    if (prefill) this.#prefills.complete(prefill, nowMs);
  }

  produced(bookingId: BookingId, outputTokens: number): void {
    const running = this.#running.get(bookingId);
    if (running === undefined || !this.#tracking.trackOutputBlocks) return;
    if (outputTokens <= running.outputTokens) return;
    running.outputTokens = outputTokens;
    this.#weigh(running, outputBlocksOf(running), weightOf(running));
  }

  remove(bookingId: BookingId, nowMs: number): void {
    const running = this.#running.get(bookingId);
    if (running === undefined) return;
    const { rank, holder, blocks, prefill, anonymousBlocks, outputBlocks, weight } = running;
    this.#running.delete(bookingId);
    this.#blocks.remove(rank, holder, blocks);
    this.#freeHolders.push(holder);
    if (prefill !== null) this.#prefills.complete(prefill, nowMs);
    const left = this.#requests[rank]! - 1;
    this.#requests[rank] = left;
    const weights = this.#weights[rank]! - (anonymousBlocks + outputBlocks) * weight;
    // Numbers too large to be added exactly leave something behind: it must not stay for ever.
    this.#weights[rank] = left === 0 ? 0 : weights;
  }

  requestsOf(rank: RankSlot): number {
    return this.#requests[rank] ?? 0;
  }

  activeBlocksOf(rank: RankSlot): number {
    const weight = this.#blocks.weightOf(rank) + (this.#weights[rank] ?? 0);
    return Math.round(weight / fullWeight);
  }

  activePrefillTokensOf(rank: RankSlot, nowMs: number): number {
    return this.#prefills.tokensOf(rank, nowMs);
  }

  findActive(sequenceHashes: Uint8Array): Uint32Array {
    return this.#blocks.findActive(halvesOf(sequenceHashes));
  }

  #isByHash({ sequenceHashes }: ActiveRequest): boolean {
    const { trackActiveBlocks, assumeKvReuse } = this.#tracking;
    return trackActiveBlocks && assumeKvReuse && sequenceHashes.length > 0;
  }

  #startPrefill({ rank, prefillTokens, prefillMs, atMs }: ActiveRequest): Prefill | null {
    if (!this.#tracking.trackPrefillTokens || prefillTokens <= 0) return null;
    const prefill: Prefill = { rank, tokens: prefillTokens, durationMs: prefillMs };
    this.#prefills.add(prefill, atMs);
    return prefill;
  }

  #weigh(running: Running, outputBlocks: number, weight: number): void {
    const { rank, holder, anonymousBlocks } = running;
    const before = (anonymousBlocks + running.outputBlocks) * running.weight;
    const after = (anonymousBlocks + outputBlocks) * weight;
    this.#weights[rank] = this.#weights[rank]! + after - before;
    this.#blocks.weigh(rank, holder, weight);
    running.outputBlocks = outputBlocks;
    running.weight = weight;
  }

  #openRank(rank: RankSlot): void {
    this.#blocks.openRank(rank);
    this.#prefills.openRank(rank);
    if (rank < this.#requests.length) return;
    const [requests, weights] = [this.#requests, this.#weights];
    this.#requests = new Uint32Array(2 * (rank + 1));
    this.#weights = new Float64Array(2 * (rank + 1));
    this.#requests.set(requests);
    this.#weights.set(weights);
  }
}

/** Blocks that the output has opened: the one that the prompt left unfinished is not among them. */
function outputBlocksOf({ promptTokens, outputTokens, blockSize }: Running): number {
  const opened = Math.ceil((promptTokens + outputTokens) / blockSize);
  return opened - Math.ceil(promptTokens / blockSize);
}

/** What is left to come of the output, of what was expected. */
function weightOf({ outputTokens, expectedOutputTokens }: Running): number {
  if (expectedOutputTokens === null) return fullWeight;
  const left = Math.max(0, 1 - outputTokens / Math.max(expectedOutputTokens, 1));
  return Math.round(left * fullWeight);
}

/** Runs of 8 bytes as pairs of halves. What the halves are worth does not matter, as long as it is always the same. */
function halvesOf(hashes: Uint8Array): Uint32Array {
  const whole = hashes.byteLength >>> 3;
  if (hashes.byteOffset % 4 === 0)
    return new Uint32Array(hashes.buffer, hashes.byteOffset, 2 * whole);
  return new Uint32Array(hashes.slice(0, 8 * whole).buffer);
}
