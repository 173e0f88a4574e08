// Hot path: `fill` runs once a choice, over every candidate of a type. Budget 10 µs with 64, 40 µs with 1,000.
import type { WorkerId, WorkerType } from "@baton/protocol";
import type { ActiveLoad } from "../load/active-load.ts";
import type { RankSlot } from "../prefix-index/prefix-index.ts";
import type { RankSlots } from "../prefix-index/rank-slots.ts";
import { hasBusyThresholds, WorkerBusyness } from "../selection/busy-thresholds.ts";
import { type BusyThresholds, noBusyThresholds } from "../selection/policy-options.ts";
import type { WorkerCandidate } from "../selection/worker-selector.ts";
import type { LoadSlots, WorkerSlots } from "./load-slots.ts";
import type { PromptOverlaps } from "./prompt-overlaps.ts";
import type { RoutableWorker, WorkerLoad } from "./routing-core.ts";

/** One rank, changed in place. */
export interface RankCandidate extends WorkerCandidate {
  taints: ReadonlySet<string>;
  draining: boolean;
  refusesUntilMs: number;
  requestsInFlight: number;
  workerRequestsInFlight: number;
  maxRequestsInFlight: number;
  activeBlocks: number | null;
  totalBlocks: number | null;
  overlapBlocks: number;
  hostOverlapBlocks: number;
  diskOverlapBlocks: number;
  bookedBlocks: number;
  bookedOverlapBlocks: number;
  activePrefillTokens: number;
  maxBatchedTokens: number | null;
  overloaded: boolean;
}

/** The candidates of a type of worker, and beside each its slots in the load and in the index (-1: none). */
export interface CandidateList {
  readonly candidates: readonly RankCandidate[];
  readonly workers: readonly WorkerRow[];
  readonly loadSlots: readonly RankSlot[];
  readonly indexSlots: Int32Array;
  /** The version of the index's slots that `indexSlots` is of. */
  indexVersion: number;
}

/** One worker with its candidates. */
export interface WorkerRow {
  worker: RoutableWorker;
  readonly slots: WorkerSlots;
  readonly ranks: readonly RankCandidate[];
  busyness: WorkerBusyness;
  /** The worker's last word; null: none yet. */
  load: WorkerLoad | null;
}

/** What the figures of candidates are taken from. */
export interface CandidateSources {
  readonly load: ActiveLoad;
  readonly loadSlots: LoadSlots;
  readonly indexSlots: RankSlots;
}

/**
 * The workers of one model as candidates, one per rank, by type of worker. Who holds the lists that it gives out sees them
 * change; they are for one choice.
 */
export class CandidateTable {
  readonly #sources: CandidateSources;
  #rows = new Map<WorkerId, WorkerRow>();
  readonly #lists = new Map<WorkerType, CandidateList>();
  /** By slot in the load. */
  readonly #rowOfSlot = new Map<RankSlot, WorkerRow>();
  readonly #refusesUntilMs = new Map<WorkerId, number>();
  #thresholds = noBusyThresholds;

  constructor(sources: CandidateSources) {
    this.#sources = sources;
  }

  /** Takes over the workers as they are. Returns the slots in the load that nobody uses any more. */
  setWorkers(workers: readonly RoutableWorker[]): readonly RankSlot[] {
    const before = this.#rows;
    this.#rows = new Map();
    for (const worker of workers) {
      const known = before.get(worker.id);
      if (known !== undefined && isSame(known.worker, worker)) {
        before.delete(worker.id);
        this.#rows.set(worker.id, known);
        known.worker = worker;
      } else {
        this.#rows.set(worker.id, this.#createRow(worker));
      }
      this.#refresh(worker.id);
    }
    this.#list();
    const { loadSlots } = this.#sources;
    return [...before.values()].flatMap(({ worker }) =>
      this.#rows.get(worker.id)?.worker.generation === worker.generation
        ? []
        : loadSlots.unlist(worker.id, worker.generation),
    );
  }

  /** Takes over other thresholds. */
  setThresholds(thresholds: BusyThresholds): void {
    this.#thresholds = thresholds;
    for (const row of this.#rows.values()) {
      row.busyness = new WorkerBusyness();
      for (const candidate of row.ranks) candidate.overloaded = false;
    }
  }

  worker(workerId: WorkerId): RoutableWorker | undefined {
    return this.#rows.get(workerId)?.worker;
  }

  /** Blocks that the rank of a slot in the load has room for; null if its worker does not say. */
  blocksOf(slot: RankSlot): number | null {
    const row = this.#rowOfSlot.get(slot);
    const totalBlocks = row?.ranks[0]?.totalBlocks ?? null;
    return row === undefined || totalBlocks === null
      ? null
      : Math.floor(totalBlocks / row.worker.dpSize);
  }

  listOf(type: WorkerType): CandidateList | undefined {
    return this.#lists.get(type);
  }

  report(load: WorkerLoad): void {
    const row = this.#rows.get(load.workerId);
    if (row === undefined || row.worker.generation !== load.generation) return;
    row.load = load;
    this.#refresh(load.workerId);
  }

  /** Counts the requests of a worker again. */
  recount(workerId: WorkerId): void {
    const row = this.#rows.get(workerId);
    if (row === undefined) return;
    const { load } = this.#sources;
    for (const candidate of row.ranks) {
      const slot = row.slots.slots.get(candidate.dpRank);
      candidate.requestsInFlight = slot === undefined ? 0 : load.requestsOf(slot);
      candidate.workerRequestsInFlight = row.slots.requests;
    }
  }

  /** Leaves a worker out until `untilMs`. */
  refuse(workerId: WorkerId, untilMs: number): void {
    this.#refusesUntilMs.set(workerId, untilMs);
    this.#refresh(workerId);
  }

  /** Whoever comes back under this id starts afresh. */
  forgetRefusal(workerId: WorkerId): void {
    if (this.#refusesUntilMs.delete(workerId)) this.#refresh(workerId);
  }

  /** Drops refusals that are over. */
  forgetOldRefusals(nowMs: number): void {
    for (const [workerId, untilMs] of this.#refusesUntilMs) {
      if (untilMs <= nowMs) this.#refusesUntilMs.delete(workerId);
    }
  }

  /** Writes what depends on the moment and the prompt. */
  fill(list: CandidateList, nowMs: number, active: Uint32Array, overlaps: PromptOverlaps): void {
    const { load } = this.#sources;
    const { candidates, loadSlots, indexSlots } = list;
    this.#followIndexSlots(list);
    for (let index = 0; index < candidates.length; index += 1) {
      const candidate = candidates[index]!;
      const slot = loadSlots[index]!;
      candidate.bookedBlocks = load.activeBlocksOf(slot);
      candidate.activePrefillTokens = load.activePrefillTokensOf(slot, nowMs);
      candidate.bookedOverlapBlocks = slot < active.length ? active[slot]! : 0;
      overlaps.write(candidate, indexSlots[index]!, slot);
    }
    if (hasBusyThresholds(this.#thresholds)) this.#watch(list.workers);
  }

  #watch(workers: readonly WorkerRow[]): void {
    for (const { worker, ranks, busyness } of workers) {
      // Workers report blocks for all of their ranks together.
      const share = 1 / worker.dpSize;
      for (const candidate of ranks) {
        const { activeBlocks, totalBlocks, dpRank } = candidate;
        const reading = {
          activePrefillTokens: candidate.activePrefillTokens,
          maxBatchedTokens: candidate.maxBatchedTokens,
          bookedBlocks: candidate.bookedBlocks,
          reportedBlocks: activeBlocks === null ? null : activeBlocks * share,
          totalBlocks: totalBlocks === null ? null : totalBlocks * share,
        };
        busyness.read(dpRank, reading, this.#thresholds);
      }
      for (const candidate of ranks) candidate.overloaded = busyness.isBusy;
    }
  }

  #followIndexSlots(list: CandidateList): void {
    const { indexSlots } = this.#sources;
    if (list.indexVersion === indexSlots.version) return;
    list.indexVersion = indexSlots.version;
    list.candidates.forEach((candidate, index) => {
      list.indexSlots[index] = indexSlots.slotOf(candidate) ?? -1;
    });
  }

  #createRow(worker: RoutableWorker): WorkerRow {
    const { loadSlots } = this.#sources;
    const slots = loadSlots.list(worker.id, worker.generation);
    const ranks: RankCandidate[] = [];
    for (let index = 0; index < worker.dpSize; index += 1) {
      const dpRank = worker.dpStartRank + index;
      loadSlots.slotOf(slots, dpRank);
      ranks.push(createCandidate(worker, dpRank));
    }
    return { worker, slots, ranks, busyness: new WorkerBusyness(), load: null };
  }

  /** Writes what the worker and its last report say. */
  #refresh(workerId: WorkerId): void {
    const row = this.#rows.get(workerId);
    if (row === undefined) return;
    const { worker, load } = row;
    const refusesUntilMs = this.#refusesUntilMs.get(workerId) ?? 0;
    for (const candidate of row.ranks) {
      candidate.taints = worker.taints;
      candidate.draining = worker.draining || load?.accepting === false;
      candidate.refusesUntilMs = refusesUntilMs;
      candidate.maxRequestsInFlight = worker.maxSequences;
      candidate.maxBatchedTokens = worker.maxBatchedTokens;
      candidate.activeBlocks = load?.activeBlocks ?? null;
      candidate.totalBlocks = load?.totalBlocks ?? worker.totalBlocks;
    }
    this.recount(workerId);
  }

  #list(): void {
    this.#lists.clear();
    this.#rowOfSlot.clear();
    for (const row of this.#rows.values()) {
      for (const slot of row.slots.slots.values()) this.#rowOfSlot.set(slot, row);
    }
    for (const [type, workers] of groupByType(this.#rows.values())) {
      const candidates = workers.flatMap(({ ranks }) => ranks);
      const loadSlots = workers.flatMap(({ ranks, slots }) =>
        ranks.map(({ dpRank }) => slots.slots.get(dpRank)!),
      );
      const indexSlots = new Int32Array(candidates.length).fill(-1);
      this.#lists.set(type, { candidates, workers, loadSlots, indexSlots, indexVersion: -1 });
    }
  }
}

function groupByType(rows: Iterable<WorkerRow>): ReadonlyMap<WorkerType, readonly WorkerRow[]> {
  const groups = new Map<WorkerType, WorkerRow[]>();
  for (const row of rows) {
    const group = groups.get(row.worker.workerType);
    if (group === undefined) groups.set(row.worker.workerType, [row]);
    else group.push(row);
  }
  return groups;
}

/** Whether the rows of one may go on as the other's. */
function isSame(left: RoutableWorker, right: RoutableWorker): boolean {
  return (
    left.generation === right.generation &&
    left.dpStartRank === right.dpStartRank &&
    left.dpSize === right.dpSize
  );
}

function createCandidate(worker: RoutableWorker, dpRank: number): RankCandidate {
  return {
    workerId: worker.id,
    generation: worker.generation,
    dpRank,
    taints: worker.taints,
    draining: worker.draining,
    refusesUntilMs: 0,
    requestsInFlight: 0,
    workerRequestsInFlight: 0,
    maxRequestsInFlight: worker.maxSequences,
    activeBlocks: null,
    totalBlocks: worker.totalBlocks,
    overlapBlocks: 0,
    hostOverlapBlocks: 0,
    diskOverlapBlocks: 0,
    bookedBlocks: 0,
    bookedOverlapBlocks: 0,
    activePrefillTokens: 0,
    maxBatchedTokens: worker.maxBatchedTokens,
    overloaded: false,
  };
}
