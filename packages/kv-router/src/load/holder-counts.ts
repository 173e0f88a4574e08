/** Who holds a block on a rank, where several ranks hold it. Hot path: one look-up for each such block of a booking. */

const firstSlots = 1_024;

/** Counts by pairs of block and rank, and the numbers of the holders folded together by exclusive or. */
export class HolderCounts {
  #blocks = new Uint32Array(firstSlots);
  #ranks = new Uint32Array(firstSlots);
  /** 0 where a place is free. */
  #counts = new Uint32Array(firstSlots);
  #folded = new Uint32Array(firstSlots);
  #mask = firstSlots - 1;
  #size = 0;

  /** Pairs held. */
  get size(): number {
    return this.#size;
  }

  /** Where a pair is, or where it would go: then `countAt` is 0. Good until the next `put` or `delete`. */
  find(block: number, rank: number): number {
    let at = homeOf(block, rank) & this.#mask;
    while (this.#counts[at] !== 0 && (this.#blocks[at] !== block || this.#ranks[at] !== rank)) {
      at = (at + 1) & this.#mask;
    }
    return at;
  }

  countAt(place: number): number {
    return this.#counts[place]!;
  }

  /** With a count of one, the holder. */
  foldedAt(place: number): number {
    return this.#folded[place]!;
  }

  /** Changes a pair that is held, to a count above 0. */
  set(place: number, count: number, folded: number): void {
    this.#counts[place] = count;
    this.#folded[place] = folded >>> 0;
  }

  /** Adds a pair that is not held. */
  put(block: number, rank: number, count: number, folded: number): void {
    if (2 * (this.#size + 1) > this.#mask + 1) this.#grow();
    this.#size += 1;
    const at = this.find(block, rank);
    this.#blocks[at] = block;
    this.#ranks[at] = rank;
    this.set(at, count, folded);
  }

  /** Deletes the pair at a place. */
  delete(place: number): void {
    const mask = this.#mask;
    let hole = place;
    for (let at = (hole + 1) & mask; this.#counts[at] !== 0; at = (at + 1) & mask) {
      const home = homeOf(this.#blocks[at]!, this.#ranks[at]!) & mask;
      if (((at - home) & mask) < ((at - hole) & mask)) continue;
      this.#blocks[hole] = this.#blocks[at]!;
      this.#ranks[hole] = this.#ranks[at]!;
      this.set(hole, this.#counts[at]!, this.#folded[at]!);
      hole = at;
    }
    this.#counts[hole] = 0;
    this.#size -= 1;
  }

  #grow(): void {
    const [blocks, ranks, counts, folded] = [this.#blocks, this.#ranks, this.#counts, this.#folded];
    const size = 2 * counts.length;
    this.#blocks = new Uint32Array(size);
    this.#ranks = new Uint32Array(size);
    this.#counts = new Uint32Array(size);
    this.#folded = new Uint32Array(size);
    this.#mask = size - 1;
    for (let from = 0; from < counts.length; from += 1) {
      if (counts[from] === 0) continue;
      const at = this.find(blocks[from]!, ranks[from]!);
      this.#blocks[at] = blocks[from]!;
      this.#ranks[at] = ranks[from]!;
      this.set(at, counts[from]!, folded[from]!);
    }
  }
}

function homeOf(block: number, rank: number): number {
  const mixed = Math.imul(block, 0x9e37_79b1) ^ Math.imul(rank, 0x85eb_ca6b);
  return mixed ^ (mixed >>> 15);
}
