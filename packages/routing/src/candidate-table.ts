/** Hot path: `of` is read once per request. The table costs a request nothing; it is rebuilt when workers come or go. */
import type { WorkerView } from "@baton/cluster-view";
import { type Bookings, type WorkerCandidate, workerTaints } from "@baton/kv-router";
import type { LoadReport, WorkerId, WorkerType } from "@baton/protocol";

/** One rank, changed in place as bookings and reports come in. */
interface RankCandidate extends WorkerCandidate {
  draining: boolean;
  refusesUntilMs: number;
  requestsInFlight: number;
  workerRequestsInFlight: number;
  activeBlocks: number | null;
  totalBlocks: number | null;
}

interface Row {
  readonly worker: WorkerView;
  readonly ranks: readonly RankCandidate[];
}

const nobody: readonly WorkerCandidate[] = [];

/**
 * The workers of one model that are not lost, as candidates: one per rank, by type of worker. Who holds the lists that it
 * gives out sees them change; they are for one choice.
 */
export class CandidateTable {
  readonly #bookings: Bookings;
  readonly #rows = new Map<WorkerId, Row>();
  readonly #byType = new Map<WorkerType, RankCandidate[]>();
  readonly #refusesUntilMs = new Map<WorkerId, number>();

  constructor(bookings: Bookings) {
    this.#bookings = bookings;
  }

  /** Takes over the workers as they are after a change of life, drain or catalog. */
  rebuild(workers: readonly WorkerView[]): void {
    this.#rows.clear();
    this.#byType.clear();
    for (const worker of workers) {
      if (worker.state !== "lost") this.#add(worker);
    }
  }

  /** The candidates of a type. */
  of(type: WorkerType): readonly WorkerCandidate[] {
    return this.#byType.get(type) ?? nobody;
  }

  worker(workerId: WorkerId): WorkerView | undefined {
    return this.#rows.get(workerId)?.worker;
  }

  /** Counts a worker's bookings again. */
  recount(workerId: WorkerId): void {
    for (const candidate of this.#rows.get(workerId)?.ranks ?? []) this.#count(candidate);
  }

  /** Takes over what a worker says of its load. */
  report(report: LoadReport): void {
    const row = this.#rows.get(report.workerId);
    if (row === undefined) return;
    for (const candidate of row.ranks) {
      candidate.draining = row.worker.state !== "live" || !report.accepting;
      candidate.activeBlocks = report.activeBlocks;
      candidate.totalBlocks = report.totalBlocks ?? row.worker.registration.capacity.totalBlocks;
    }
  }

  /** Leaves a worker out until `untilMs`. */
  refuse(workerId: WorkerId, untilMs: number): void {
    this.#refusesUntilMs.set(workerId, untilMs);
    this.#setRefusal(workerId, untilMs);
  }

  /** Whoever comes back under this id starts afresh. */
  forgetRefusal(workerId: WorkerId): void {
    if (this.#refusesUntilMs.delete(workerId)) this.#setRefusal(workerId, 0);
  }

  /** Drops refusals that are over. */
  forgetOldRefusals(nowMs: number): void {
    for (const [workerId, untilMs] of this.#refusesUntilMs) {
      if (untilMs <= nowMs) this.#refusesUntilMs.delete(workerId);
    }
  }

  #setRefusal(workerId: WorkerId, untilMs: number): void {
    for (const candidate of this.#rows.get(workerId)?.ranks ?? []) {
      candidate.refusesUntilMs = untilMs;
    }
  }

  #add(worker: WorkerView): void {
    const { dpStartRank, dpSize } = worker.registration.capacity;
    const taints = workerTaints(worker.registration);
    const ranks: RankCandidate[] = [];
    for (let rank = dpStartRank; rank < dpStartRank + dpSize; rank += 1) {
      ranks.push(this.#candidate(worker, rank, taints));
    }
    this.#rows.set(worker.id, { worker, ranks });
    const ofType = this.#byType.get(worker.workerType);
    if (ofType === undefined) this.#byType.set(worker.workerType, ranks.slice());
    else ofType.push(...ranks);
  }

  #candidate(worker: WorkerView, dpRank: number, taints: ReadonlySet<string>): RankCandidate {
    const { id, generation, registration, load } = worker;
    const candidate: RankCandidate = {
      workerId: id,
      generation,
      dpRank,
      taints,
      draining: worker.state !== "live" || load?.accepting === false,
      refusesUntilMs: this.#refusesUntilMs.get(id) ?? 0,
      requestsInFlight: 0,
      workerRequestsInFlight: 0,
      maxRequestsInFlight: registration.capacity.maxSequences,
      activeBlocks: load?.activeBlocks ?? null,
      totalBlocks: load?.totalBlocks ?? registration.capacity.totalBlocks,
      overlapBlocks: 0,
      hostOverlapBlocks: 0,
      diskOverlapBlocks: 0,
      bookedBlocks: 0,
      bookedOverlapBlocks: 0,
      activePrefillTokens: 0,
      maxBatchedTokens: registration.capacity.maxBatchedTokens,
      overloaded: false,
    };
    this.#count(candidate);
    return candidate;
  }

  #count(candidate: RankCandidate): void {
    const { workerId, dpRank } = candidate;
    candidate.requestsInFlight = this.#bookings.loadOfRank(workerId, dpRank).requests;
    candidate.workerRequestsInFlight = this.#bookings.loadOf(workerId).requests;
  }
}
