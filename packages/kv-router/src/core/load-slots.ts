import type { WorkerId } from "@baton/protocol";
import type { RankSlot } from "../prefix-index/prefix-index.ts";

/** One generation of a worker, with the slots of its ranks and the requests that are booked on it. */
export interface WorkerSlots {
  readonly workerId: WorkerId;
  readonly generation: number;
  /** By data-parallel rank. */
  readonly slots: ReadonlyMap<number, RankSlot>;
  readonly requests: number;
}

interface OpenSlots extends WorkerSlots {
  readonly slots: Map<number, RankSlot>;
  requests: number;
  isListed: boolean;
}

/**
 * The slots under which active load is counted. A generation of a worker has them while it is listed or something is
 * booked on it. Nobody else gets a slot before `recycle`.
 */
export class LoadSlots {
  /** A worker has one generation but for the moments when it starts anew. */
  readonly #byWorker = new Map<WorkerId, OpenSlots[]>();
  readonly #free: RankSlot[] = [];
  #next = 0;
  #open = 0;

  /** Slots that are open. */
  get size(): number {
    return this.#open;
  }

  get(workerId: WorkerId, generation: number): WorkerSlots | undefined {
    return this.#find(workerId, generation);
  }

  /** Says that a generation is listed: it keeps its slots until it is not. */
  list(workerId: WorkerId, generation: number): WorkerSlots {
    const worker = this.#findOrAdd(workerId, generation);
    worker.isListed = true;
    return worker;
  }

  /** Returns the slots that were closed. */
  unlist(workerId: WorkerId, generation: number): readonly RankSlot[] {
    const worker = this.#find(workerId, generation);
    if (worker === undefined) return [];
    worker.isListed = false;
    return this.#closeUnused(worker);
  }

  /** Counts a booking. Returns its rank's slot. */
  book(workerId: WorkerId, generation: number, dpRank: number): RankSlot {
    const worker = this.#findOrAdd(workerId, generation);
    worker.requests += 1;
    return this.slotOf(worker, dpRank);
  }

  /** A booking that was counted is over. Returns the slots that were closed. */
  release(workerId: WorkerId, generation: number): readonly RankSlot[] {
    const worker = this.#find(workerId, generation);
    if (worker === undefined) return [];
    worker.requests -= 1;
    return this.#closeUnused(worker);
  }

  /** The slot of a rank, a free one if it has none yet. */
  slotOf({ workerId, generation }: WorkerSlots, dpRank: number): RankSlot {
    const { slots } = this.#findOrAdd(workerId, generation);
    const known = slots.get(dpRank);
    if (known !== undefined) return known;
    const slot = this.#free.pop() ?? this.#next++;
    slots.set(dpRank, slot);
    this.#open += 1;
    return slot;
  }

  /** Says that nothing is left under a closed slot. */
  recycle(slot: RankSlot): void {
    this.#free.push(slot);
  }

  #find(workerId: WorkerId, generation: number): OpenSlots | undefined {
    return this.#byWorker.get(workerId)?.find((worker) => worker.generation === generation);
  }

  #findOrAdd(workerId: WorkerId, generation: number): OpenSlots {
    const known = this.#find(workerId, generation);
    if (known !== undefined) return known;
    const worker = { workerId, generation, slots: new Map(), requests: 0, isListed: false };
    const generations = this.#byWorker.get(workerId);
    if (generations === undefined) this.#byWorker.set(workerId, [worker]);
    else generations.push(worker);
    return worker;
  }

  #closeUnused(worker: OpenSlots): readonly RankSlot[] {
    if (worker.isListed || worker.requests > 0) return [];
    const generations = this.#byWorker.get(worker.workerId) ?? [];
    if (generations.length === 1) this.#byWorker.delete(worker.workerId);
    else generations.splice(generations.indexOf(worker), 1);
    this.#open -= worker.slots.size;
    return [...worker.slots.values()];
  }
}
