import type { ActorId, BookingId, WorkerId, WorkerType } from "@baton/protocol";
import type { BookingEntry, LiveBooking } from "../bookings/bookings.ts";
import type { PrefixIndex } from "../prefix-index/prefix-index.ts";
import type { RankSlots } from "../prefix-index/rank-slots.ts";
import type { BusyThresholds } from "../selection/policy-options.ts";
import type {
  Selection,
  SelectionExplanation,
  SelectionRequest,
  WorkerCandidate,
  WorkerSelector,
} from "../selection/worker-selector.ts";

/** A worker as routing sees it. */
export interface RoutableWorker {
  readonly id: WorkerId;
  readonly generation: number;
  readonly workerType: WorkerType;
  readonly dpStartRank: number;
  readonly dpSize: number;
  readonly taints: ReadonlySet<string>;
  readonly draining: boolean;
  /** Most requests at a time. */
  readonly maxSequences: number;
  readonly maxBatchedTokens: number | null;
  readonly totalBlocks: number | null;
  /** Tokens a block. */
  readonly blockSize: number;
}

/** What a worker says of itself; null is unknown, which is not idle. */
export interface WorkerLoad {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly accepting: boolean;
  readonly activeBlocks: number | null;
  readonly totalBlocks: number | null;
}

/** A request that is to be placed. */
export interface CoreRequest extends SelectionRequest {
  readonly workerType: WorkerType;
  /** Sequence hashes of the prompt's full blocks, 8 bytes each. */
  readonly sequenceHashes: Uint8Array;
}

/** A booking to be made, by this router or heard from another. */
export interface CoreBooking {
  readonly bookingId: BookingId;
  readonly frontendId: ActorId;
  readonly frontendGeneration: number;
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
  readonly blocks: number;
  readonly promptTokens: number;
  /** Prompt tokens that the rank must compute; 0 if they are not to be counted. */
  readonly prefillTokens: number;
  /** Sequence hashes of the prompt's full blocks, 8 bytes each; empty if only their number counts. */
  readonly sequenceHashes: Uint8Array;
  readonly expectedOutputTokens: number | null;
  readonly atMs: number;
}

/** Leaves out candidates for reasons that the rules do not know. */
export type Narrow = (candidates: readonly WorkerCandidate[]) => readonly WorkerCandidate[];

/**
 * All that one router knows of a model's workers, and how it chooses among them: candidates, prefix index, active load,
 * bookings and policy. No bus, no clock: the routers' desks and the replay drive the same one.
 */
export interface RoutingCore {
  /** The blocks that workers say they hold; null where the policy looks at none. The KV feed writes into it. */
  readonly index: PrefixIndex | null;
  /** The index's ranks. */
  readonly indexSlots: RankSlots;
  /** Bookings held. */
  readonly booked: number;
  /** Chooses by another policy from now on. Bookings and load are kept. */
  setPolicy(selector: WorkerSelector, thresholds: BusyThresholds): void;
  /** Takes over the workers as they are; bookings, load and reports of generations that stay are kept. */
  setWorkers(workers: readonly RoutableWorker[]): void;
  candidates(workerType: WorkerType): readonly WorkerCandidate[];
  /** Takes over what a worker says. Of one that is not among the workers, or of another generation, nothing is kept. */
  reported(load: WorkerLoad): void;
  /** Leaves a worker out until then. */
  refuse(workerId: WorkerId, untilMs: number): void;
  forgetRefusal(workerId: WorkerId): void;
  /** Chooses. `random` is in [0, 1). Nothing is booked. */
  choose(request: CoreRequest, random: number, narrow?: Narrow): Selection;
  /** What `choose` would say, and why. Changes no later choice. */
  explain(request: CoreRequest, random: number, narrow?: Narrow): SelectionExplanation;
  /** One heard twice is `duplicate`: the first stays. Beyond the limit it is `full`. */
  book(booking: CoreBooking): "booked" | "duplicate" | "full";
  get(bookingId: BookingId): BookingEntry | undefined;
  prefillCompleted(bookingId: BookingId, nowMs: number): void;
  release(bookingId: BookingId, nowMs: number): BookingEntry | undefined;
  /** All that a worker runs, by its own word: mends what was lost. Returns the bookings that have ended. */
  reconcile(
    worker: { readonly workerId: WorkerId; readonly generation: number },
    live: readonly LiveBooking[],
    nowMs: number,
  ): readonly BookingEntry[];
  /** Ends what a worker's generations up to this one ran. */
  dropWorker(workerId: WorkerId, generation: number, nowMs: number): readonly BookingEntry[];
  /** Ends what a Frontend's generations up to this one asked for. */
  dropFrontend(frontendId: ActorId, generation: number, nowMs: number): readonly BookingEntry[];
  /** Drops bookings of which nobody has spoken for too long, old refusals, and predictions whose time is over. */
  sweep(nowMs: number): readonly BookingEntry[];
}
