import type { WorkerId } from "@baton/protocol";
import type { RankSlot } from "./prefix-index.ts";

/** One rank of one generation of a worker. */
export interface RankKey {
  readonly workerId: WorkerId;
  readonly generation: number;
  readonly dpRank: number;
}

/** Gives ranks their numbers: small ones, because tables and bit sets are indexed by them. */
export class RankSlots {
  readonly #slots = new Map<string, RankSlot>();
  readonly #free: RankSlot[] = [];
  #next = 0;
  #version = 0;

  /** Another number after each change of a rank's slot, for whoever keeps slots at hand. */
  get version(): number {
    return this.#version;
  }

  /** Ranks that have a slot. */
  get size(): number {
    return this.#slots.size;
  }

  /** The slot of a rank; undefined if it has none. */
  slotOf(rank: RankKey): RankSlot | undefined {
    return this.#slots.get(nameOf(rank));
  }

  /** The slot of a rank, a free one if it has none yet. */
  open(rank: RankKey): RankSlot {
    const name = nameOf(rank);
    const known = this.#slots.get(name);
    if (known !== undefined) return known;
    const slot = this.#free.pop() ?? this.#next++;
    this.#slots.set(name, slot);
    this.#version += 1;
    return slot;
  }

  /** Takes the slot away from a rank. Nobody else gets it before `recycle`. */
  close(rank: RankKey): RankSlot | undefined {
    const name = nameOf(rank);
    const slot = this.#slots.get(name);
    if (this.#slots.delete(name)) this.#version += 1;
    return slot;
  }

  /** Says that nothing is left under a closed slot. */
  recycle(slot: RankSlot): void {
    this.#free.push(slot);
  }
}

function nameOf({ workerId, generation, dpRank }: RankKey): string {
  return `${generation} ${dpRank} ${workerId}`;
}
