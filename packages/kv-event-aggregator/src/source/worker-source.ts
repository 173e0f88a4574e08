import type { ModelName, WorkerId } from "@baton/protocol";
import type { Timer } from "@baton/runtime";
import type { RankSource } from "./rank-source.ts";

/** One generation of a worker, as far as its KV events go. */
export class WorkerSource {
  readonly id: WorkerId;
  readonly generation: number;
  readonly model: ModelName;
  readonly #dpRanks: ReadonlySet<number>;
  readonly ranks = new Map<number, RankSource>();
  #holdTimer: Timer | null = null;

  constructor(worker: {
    readonly id: WorkerId;
    readonly generation: number;
    readonly model: ModelName;
    readonly dpRanks: readonly number[];
  }) {
    this.id = worker.id;
    this.generation = worker.generation;
    this.model = worker.model;
    this.#dpRanks = new Set(worker.dpRanks);
  }

  /** Whether the worker has such a rank. */
  has(dpRank: number): boolean {
    return this.#dpRanks.has(dpRank);
  }

  /** Whether the worker is silent and may come back. */
  get isHeld(): boolean {
    return this.#holdTimer !== null;
  }

  /** Relays nothing until `resume`; the timer is what ends the wait. */
  hold(timer: Timer): void {
    this.#holdTimer?.cancel();
    this.#holdTimer = timer;
    for (const rank of this.ranks.values()) rank.hold();
  }

  /** Goes on where it stopped. */
  resume(): void {
    this.#holdTimer?.cancel();
    this.#holdTimer = null;
    for (const rank of this.ranks.values()) rank.resume();
  }

  /** The end: no rank emits any more. */
  close(): void {
    this.#holdTimer?.cancel();
    this.#holdTimer = null;
    for (const rank of this.ranks.values()) rank.close();
  }
}
