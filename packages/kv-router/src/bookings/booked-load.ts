import type { BookedLoad, BookingEntry } from "./bookings.ts";

/** The load of nobody. */
export const noBookedLoad: BookedLoad = { requests: 0, blocks: 0, promptTokens: 0 };

/** The bookings of one worker, with their sums kept as they come and go. */
export class WorkerBookings {
  readonly #entries = new Set<BookingEntry>();
  readonly #total = new LoadSum();
  readonly #ranks = new Map<number, LoadSum>();

  get entries(): ReadonlySet<BookingEntry> {
    return this.#entries;
  }

  get load(): BookedLoad {
    return this.#total;
  }

  loadOfRank(dpRank: number): BookedLoad {
    return this.#ranks.get(dpRank) ?? noBookedLoad;
  }

  add(entry: BookingEntry): void {
    this.#entries.add(entry);
    this.#total.add(entry, 1);
    let rank = this.#ranks.get(entry.dpRank);
    if (rank === undefined) {
      rank = new LoadSum();
      this.#ranks.set(entry.dpRank, rank);
    }
    rank.add(entry, 1);
  }

  remove(entry: BookingEntry): void {
    this.#entries.delete(entry);
    this.#total.add(entry, -1);
    const rank = this.#ranks.get(entry.dpRank);
    rank?.add(entry, -1);
    if (rank?.requests === 0) this.#ranks.delete(entry.dpRank);
  }
}

class LoadSum implements BookedLoad {
  requests = 0;
  blocks = 0;
  promptTokens = 0;

  add(entry: BookingEntry, sign: 1 | -1): void {
    this.requests += sign;
    this.blocks += sign * entry.blocks;
    this.promptTokens += sign * entry.promptTokens;
  }
}
