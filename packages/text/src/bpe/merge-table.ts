// Hot: about four look-ups per byte of a word that the memo does not know. Bench: bench/tokenizer.bench.ts.

const slotWidth = 4;

/**
 * The merges of a tokenizer: (left id, right id) to (rank, id of the result).
 *
 * One open-addressed table of four integers a slot, at most half full: a look-up touches one cache line.
 */
export class MergeTable {
  /** Per slot: left id + 1 (0 where it is free), right id, rank, id of the result. */
  private readonly slots: Int32Array;
  private readonly mask: number;

  constructor(mergeCount: number) {
    let capacity = 16;
    while (capacity < mergeCount * 2) {
      capacity *= 2;
    }
    this.slots = new Int32Array(capacity * slotWidth);
    this.mask = capacity - 1;
  }

  /** Enters a merge. Of two merges of the same pair the first one counts. */
  insert(left: number, right: number, rank: number, id: number): void {
    let slot = hashPair(left, right) & this.mask;
    while (this.slots[slot * slotWidth] !== 0) {
      const base = slot * slotWidth;
      if (this.slots[base] === left + 1 && this.slots[base + 1] === right) {
        return;
      }
      slot = (slot + 1) & this.mask;
    }
    const base = slot * slotWidth;
    this.slots[base] = left + 1;
    this.slots[base + 1] = right;
    this.slots[base + 2] = rank;
    this.slots[base + 3] = id;
  }

  /** Where the merge of a pair stands, for `rankAt` and `idAt`; -1 if the pair does not merge. */
  find(left: number, right: number): number {
    const slots = this.slots;
    let slot = hashPair(left, right) & this.mask;
    for (;;) {
      const base = slot * slotWidth;
      const key = slots[base]!;
      if (key === left + 1 && slots[base + 1] === right) {
        return base;
      }
      if (key === 0) {
        return -1;
      }
      slot = (slot + 1) & this.mask;
    }
  }

  rankAt(place: number): number {
    return this.slots[place + 2]!;
  }

  idAt(place: number): number {
    return this.slots[place + 3]!;
  }
}

function hashPair(left: number, right: number): number {
  const hash = Math.imul(left + 1, 0x9e3779b1) ^ Math.imul(right + 1, 0x85ebca6b);
  return hash ^ (hash >>> 15);
}
