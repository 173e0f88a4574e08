// Hot path: `choose` runs once a request and leg. Budget 60 µs with 64 workers, 100 µs with 1,000, prompts of 512 blocks.
// Bench: bench/core/choose.bench.ts
import type { ActorId, BookingId, WorkerId, WorkerType } from "@baton/protocol";
import type {
  Booked,
  BookingEntry,
  Bookings,
  BookingsOptions,
  LiveBooking,
} from "../bookings/bookings.ts";
import { createBookings, isLearned } from "../bookings/create-bookings.ts";
import type { ActiveLoad } from "../load/active-load.ts";
import { createActiveLoad } from "../load/create-active-load.ts";
import {
  noPrefillDuration,
  type PrefillDurationModel,
  prefillMs,
} from "../load/prefill-duration.ts";
import type { PredictedIndex } from "../prefix-index/predicted-index.ts";
import type { PrefixIndex, RankSlot } from "../prefix-index/prefix-index.ts";
import { RankSlots } from "../prefix-index/rank-slots.ts";
import {
  type BusyThresholds,
  defaultLoadTracking,
  type LoadTrackingOptions,
  noBusyThresholds,
} from "../selection/policy-options.ts";
import type {
  Selection,
  SelectionExplanation,
  WorkerCandidate,
  WorkerSelector,
} from "../selection/worker-selector.ts";
import { type CandidateList, CandidateTable } from "./candidate-table.ts";
import { LoadSlots } from "./load-slots.ts";
import { PromptOverlaps } from "./prompt-overlaps.ts";
import type {
  CoreBooking,
  CoreRequest,
  Narrow,
  RoutableWorker,
  RoutingCore,
  WorkerLoad,
} from "./routing-core.ts";

/** What a routing core is made of. */
export interface RoutingCoreOptions {
  readonly selector: WorkerSelector;
  readonly bookings: BookingsOptions;
  /** The blocks that workers say they hold; absent: nobody says. */
  readonly index?: PrefixIndex;
  /**
   * Makes what remembers the blocks that ranks will hold by the bookings made here; absent: nothing is predicted. It is given
   * how many blocks a rank has room for, null if the worker does not say.
   */
  readonly predicted?: (blocksOf: (rank: RankSlot) => number | null) => PredictedIndex;
  /** Default: `defaultLoadTracking`. */
  readonly tracking?: LoadTrackingOptions;
  /** Default: none. */
  readonly thresholds?: BusyThresholds;
  /** How long prefills take. Default: nobody knows. */
  readonly prefillDuration?: PrefillDurationModel;
}

/** A core without workers. Throws RangeError for options of tracking that contradict each other. */
export function createRoutingCore(options: RoutingCoreOptions): RoutingCore {
  return new Core(options);
}

/** What of a booking is load. */
type CountedBooking = Omit<CoreBooking, "frontendId" | "frontendGeneration">;

const nobody: CandidateList = {
  candidates: [],
  workers: [],
  loadSlots: [],
  indexSlots: new Int32Array(),
  indexVersion: -1,
};
const noActive = new Uint32Array();
const noHashes = new Uint8Array();
/** Of a worker that is not listed: its output then opens no blocks. */
const unknownBlockSize = Number.POSITIVE_INFINITY;

class Core implements RoutingCore {
  readonly index: PrefixIndex | null;
  readonly indexSlots = new RankSlots();
  readonly #predicted: PredictedIndex | null;
  readonly #prefillDuration: PrefillDurationModel;
  readonly #bookings: Bookings;
  readonly #load: ActiveLoad;
  readonly #loadSlots = new LoadSlots();
  readonly #table: CandidateTable;
  readonly #overlaps: PromptOverlaps;
  /** What workers last said of bookings that were learned from them. */
  readonly #learned = new Map<BookingId, LiveBooking>();
  #selector: WorkerSelector;

  constructor(options: RoutingCoreOptions) {
    const { index = null, tracking = defaultLoadTracking } = options;
    const predicted = options.predicted?.((rank) => this.#table.blocksOf(rank)) ?? null;
    this.index = index;
    this.#predicted = predicted;
    this.#prefillDuration = options.prefillDuration ?? noPrefillDuration;
    this.#bookings = createBookings(options.bookings);
    this.#load = createActiveLoad(tracking);
    this.#overlaps = new PromptOverlaps(index, predicted);
    this.#selector = options.selector;
    this.#table = new CandidateTable({
      load: this.#load,
      loadSlots: this.#loadSlots,
      indexSlots: this.indexSlots,
    });
    this.#table.setThresholds(options.thresholds ?? noBusyThresholds);
  }

  get booked(): number {
    return this.#bookings.size;
  }

  setPolicy(selector: WorkerSelector, thresholds: BusyThresholds): void {
    this.#selector = selector;
    this.#table.setThresholds(thresholds);
  }

  setWorkers(workers: readonly RoutableWorker[]): void {
    this.#close(this.#table.setWorkers(workers));
  }

  candidates(workerType: WorkerType): readonly WorkerCandidate[] {
    return (this.#table.listOf(workerType) ?? nobody).candidates;
  }

  reported(load: WorkerLoad): void {
    this.#table.report(load);
  }

  refuse(workerId: WorkerId, untilMs: number): void {
    this.#table.refuse(workerId, untilMs);
  }

  forgetRefusal(workerId: WorkerId): void {
    this.#table.forgetRefusal(workerId);
  }

  choose(request: CoreRequest, random: number, narrow?: Narrow): Selection {
    const candidates = this.#candidatesFor(request);
    return this.#selector.select(request, narrow?.(candidates) ?? candidates, random);
  }

  explain(request: CoreRequest, random: number, narrow?: Narrow): SelectionExplanation {
    const candidates = this.#candidatesFor(request);
    return this.#selector.explain(request, narrow?.(candidates) ?? candidates, random);
  }

  book(booking: CoreBooking): Booked {
    const { bookingId, atMs, sequenceHashes } = booking;
    const known = this.#bookings.get(bookingId);
    const outcome = this.#bookings.book(entryOf(booking));
    if (outcome !== "booked") return outcome;
    // A learned booking was there if the worker's report overtook this one. It says how far the request is.
    const live = this.#learned.get(bookingId);
    if (known !== undefined) this.#uncount(known, atMs);
    const rank = this.#count(booking);
    if (live !== undefined) this.#follow(live, atMs);
    if (sequenceHashes.length > 0) this.#predicted?.record(rank, sequenceHashes, atMs);
    return outcome;
  }

  get(bookingId: BookingId): BookingEntry | undefined {
    return this.#bookings.get(bookingId);
  }

  prefillCompleted(bookingId: BookingId, nowMs: number): void {
    this.#bookings.renew(bookingId, nowMs);
    this.#load.prefillCompleted(bookingId, nowMs);
  }

  release(bookingId: BookingId, nowMs: number): BookingEntry | undefined {
    const entry = this.#bookings.release(bookingId);
    if (entry !== undefined) this.#uncount(entry, nowMs);
    return entry;
  }

  reconcile(
    { workerId, generation }: { readonly workerId: WorkerId; readonly generation: number },
    live: readonly LiveBooking[],
    nowMs: number,
  ): readonly BookingEntry[] {
    const dpRank = this.#table.worker(workerId)?.dpStartRank ?? 0;
    const report = { workerId, generation, live, dpRank };
    const { ended, learned } = this.#bookings.reconcile(report, nowMs);
    this.#uncountAll(ended, nowMs);
    const isNew = new Set(learned);
    for (const booking of live) {
      const entry = this.#bookings.get(booking.bookingId);
      if (entry?.workerId !== workerId || entry.generation !== generation) continue;
      if (isNew.has(entry)) this.#countLearned(entry, booking, nowMs);
      if (isLearned(entry)) this.#learned.set(entry.bookingId, booking);
      this.#follow(booking, nowMs);
    }
    return ended;
  }

  dropWorker(workerId: WorkerId, generation: number, nowMs: number): readonly BookingEntry[] {
    return this.#uncountAll(this.#bookings.dropWorker(workerId, generation), nowMs);
  }

  dropFrontend(frontendId: ActorId, generation: number, nowMs: number): readonly BookingEntry[] {
    return this.#uncountAll(this.#bookings.dropFrontend(frontendId, generation), nowMs);
  }

  sweep(nowMs: number): readonly BookingEntry[] {
    this.#table.forgetOldRefusals(nowMs);
    this.#predicted?.sweep(nowMs);
    return this.#uncountAll(this.#bookings.dropStale(nowMs), nowMs);
  }

  #candidatesFor(request: CoreRequest): readonly WorkerCandidate[] {
    const { nowMs, workerType, sequenceHashes } = request;
    const list = this.#table.listOf(workerType) ?? nobody;
    const { usesCacheData } = this.#selector;
    if (usesCacheData) this.#overlaps.look(sequenceHashes, nowMs);
    else this.#overlaps.lookAway();
    const active = usesCacheData ? this.#load.findActive(sequenceHashes) : noActive;
    this.#table.fill(list, nowMs, active, this.#overlaps);
    return list.candidates;
  }

  /** Counts a booking as load. Returns its rank's slot. */
  #count(booking: CountedBooking): RankSlot {
    const { workerId, generation, prefillTokens } = booking;
    const { dpRank, blockSize } = this.#placeOf(booking);
    const rank = this.#loadSlots.book(workerId, generation, dpRank);
    this.#load.add({
      bookingId: booking.bookingId,
      rank,
      sequenceHashes: booking.sequenceHashes,
      blocks: booking.blocks,
      prefillTokens,
      prefillMs: prefillMs(this.#prefillDuration, prefillTokens),
      promptTokens: booking.promptTokens,
      blockSize,
      expectedOutputTokens: booking.expectedOutputTokens,
      atMs: booking.atMs,
    });
    this.#table.recount(workerId);
    return rank;
  }

  #countLearned(entry: BookingEntry, live: LiveBooking, nowMs: number): void {
    if (this.#load.has(entry.bookingId)) this.#uncount(entry, nowMs);
    const { blockSize } = this.#placeOf(entry);
    this.#count({
      ...entry,
      promptTokens: Number.isFinite(blockSize) ? entry.blocks * blockSize : 0,
      prefillTokens: live.prefillTokens ?? 0,
      sequenceHashes: noHashes,
      expectedOutputTokens: null,
    });
  }

  /** Takes over how far a worker says a request is. */
  #follow({ bookingId, prefillTokens, outputTokens }: LiveBooking, nowMs: number): void {
    if (prefillTokens === 0) this.#load.prefillCompleted(bookingId, nowMs);
    if (outputTokens !== null) this.#load.produced(bookingId, outputTokens);
  }

  #uncount({ bookingId, workerId, generation }: BookingEntry, nowMs: number): void {
    this.#learned.delete(bookingId);
    this.#load.remove(bookingId, nowMs);
    this.#close(this.#loadSlots.release(workerId, generation));
    this.#table.recount(workerId);
  }

  #uncountAll(entries: readonly BookingEntry[], nowMs: number): readonly BookingEntry[] {
    for (const entry of entries) this.#uncount(entry, nowMs);
    return entries;
  }

  /** Frees slots of ranks that are gone. */
  #close(slots: readonly RankSlot[]): void {
    for (const slot of slots) {
      this.#predicted?.removeRank(slot);
      this.#loadSlots.recycle(slot);
    }
  }

  /** Where a booking counts. A rank that its worker does not have is taken for the first. */
  #placeOf(booking: Pick<CoreBooking, "workerId" | "generation" | "dpRank">): {
    readonly dpRank: number;
    readonly blockSize: number;
  } {
    const { workerId, generation, dpRank } = booking;
    const worker = this.#table.worker(workerId);
    if (worker?.generation !== generation) return { dpRank, blockSize: unknownBlockSize };
    const { dpStartRank, dpSize, blockSize } = worker;
    const isKnown = dpRank >= dpStartRank && dpRank < dpStartRank + dpSize;
    return { dpRank: isKnown ? dpRank : dpStartRank, blockSize };
  }
}

function entryOf(booking: CoreBooking): BookingEntry {
  return {
    bookingId: booking.bookingId,
    frontendId: booking.frontendId,
    frontendGeneration: booking.frontendGeneration,
    workerId: booking.workerId,
    generation: booking.generation,
    dpRank: booking.dpRank,
    blocks: booking.blocks,
    promptTokens: booking.promptTokens,
    atMs: booking.atMs,
  };
}
