import { mixWords } from "./hash-words.ts";

// An entry's words: both halves of the hash, the neighbours in order of use, and when it ends. Entry 0 is the list's head.
const words = 5;
const lowAt = 0;
const highAt = 1;
const newerAt = 2;
const olderAt = 3;
const endAt = 4;

const firstCapacity = 64;

/** One rank's blocks in the order in which they were last of use. About 30 bytes a block. */
export class RankRecency {
  #entries = new Int32Array(firstCapacity * words);
  /** Entry numbers by hash, of open addressing; 0 is an empty place. A power of two, at most half full. */
  #places = new Int32Array(firstCapacity * 2);
  #used = 0;
  #firstFree = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(low: number, high: number): boolean {
    return this.#places[this.#placeOf(low, high)] !== 0;
  }

  /** Makes a block the latest. `end` is handed back when it is the oldest. */
  touch(low: number, high: number, end: number): void {
    const place = this.#placeOf(low, high);
    let entry = this.#places[place]!;
    if (entry === 0) {
      entry = this.#takeEntry();
      this.#entries[entry * words + lowAt] = low;
      this.#entries[entry * words + highAt] = high;
      // The tables may have grown.
      this.#places[this.#placeOf(low, high)] = entry;
      this.#size += 1;
    } else {
      this.#unchain(entry);
    }
    this.#entries[entry * words + endAt] = end;
    this.#chain(entry);
  }

  /** Of the block that was of use longest ago; there must be one. */
  get oldestLow(): number {
    return this.#entries[this.#oldest * words + lowAt]!;
  }

  get oldestHigh(): number {
    return this.#entries[this.#oldest * words + highAt]!;
  }

  get oldestEnd(): number {
    return this.#entries[this.#oldest * words + endAt]!;
  }

  dropOldest(): void {
    const entry = this.#oldest;
    this.#leave(this.#placeOf(this.oldestLow, this.oldestHigh));
    this.#unchain(entry);
    this.#entries[entry * words + newerAt] = this.#firstFree;
    this.#firstFree = entry;
    this.#size -= 1;
  }

  /** After the newest comes the head, and after the head the oldest. */
  get #oldest(): number {
    return this.#entries[newerAt]!;
  }

  #chain(entry: number): void {
    const entries = this.#entries;
    const newest = entries[olderAt]!;
    entries[entry * words + olderAt] = newest;
    entries[entry * words + newerAt] = 0;
    entries[newest * words + newerAt] = entry;
    entries[olderAt] = entry;
  }

  #unchain(entry: number): void {
    const entries = this.#entries;
    const newer = entries[entry * words + newerAt]!;
    const older = entries[entry * words + olderAt]!;
    entries[newer * words + olderAt] = older;
    entries[older * words + newerAt] = newer;
  }

  #takeEntry(): number {
    const free = this.#firstFree;
    if (free !== 0) {
      this.#firstFree = this.#entries[free * words + newerAt]!;
      return free;
    }
    this.#used += 1;
    if ((this.#used + 1) * words > this.#entries.length) this.#grow();
    return this.#used;
  }

  #grow(): void {
    const entries = new Int32Array(this.#entries.length * 2);
    entries.set(this.#entries);
    const taken = this.#places.filter((entry) => entry !== 0);
    this.#entries = entries;
    this.#places = new Int32Array(this.#places.length * 2);
    for (const entry of taken) {
      const at = entry * words;
      this.#places[this.#placeOf(entries[at + lowAt]!, entries[at + highAt]!)] = entry;
    }
  }

  /** Where a block is, or the empty place where it would be. */
  #placeOf(low: number, high: number): number {
    const mask = this.#places.length - 1;
    let place = mixWords(low, high) & mask;
    for (;;) {
      const entry = this.#places[place]!;
      if (entry === 0) return place;
      const at = entry * words;
      if (this.#entries[at + lowAt] === low && this.#entries[at + highAt] === high) return place;
      place = (place + 1) & mask;
    }
  }

  /** Empties a place, and moves those after it back into the gap. */
  #leave(place: number): void {
    const mask = this.#places.length - 1;
    let gap = place;
    for (let next = (gap + 1) & mask; this.#places[next] !== 0; next = (next + 1) & mask) {
      const at = this.#places[next]! * words;
      const home = mixWords(this.#entries[at + lowAt]!, this.#entries[at + highAt]!) & mask;
      if (((next - home) & mask) < ((next - gap) & mask)) continue;
      this.#places[gap] = this.#places[next]!;
      gap = next;
    }
    this.#places[gap] = 0;
  }
}
