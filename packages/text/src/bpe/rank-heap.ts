/** Ranks and positions share one double: 22 bits of rank above 30 bits of position. */
const positionRange = 2 ** 30;

/** A heap of (rank, position): the lowest rank first, of equal ranks the leftmost position. */
export class RankHeap {
  size = 0;
  poppedRank = 0;
  poppedPosition = 0;
  private keys: Float64Array;
  /** How many entries from the beginning `build` has yet to put in order. */
  private unordered = 0;

  constructor(capacity: number) {
    this.keys = new Float64Array(Math.max(capacity, 16));
  }

  /** Adds an entry without order. Call `build` before the first `pop`. */
  append(rank: number, position: number): void {
    this.add(rank, position);
    this.unordered = this.size >> 1;
  }

  /** Puts what `append` added in order, at most `maxEntries` entries a call. True when all are; then nothing more is done. */
  build(maxEntries: number): boolean {
    const to = Math.max(this.unordered - maxEntries, 0);
    for (let at = this.unordered - 1; at >= to; at -= 1) {
      this.siftDown(at);
    }
    this.unordered = to;
    return to === 0;
  }

  push(rank: number, position: number): void {
    this.add(rank, position);
    const keys = this.keys;
    let at = this.size - 1;
    const key = keys[at]!;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (keys[parent]! <= key) {
        break;
      }
      keys[at] = keys[parent]!;
      at = parent;
    }
    keys[at] = key;
  }

  /** Removes the first entry into `poppedRank` and `poppedPosition`. False if there is none. */
  pop(): boolean {
    if (this.size === 0) {
      return false;
    }
    const key = this.keys[0]!;
    this.poppedRank = Math.floor(key / positionRange);
    this.poppedPosition = key - this.poppedRank * positionRange;
    this.size -= 1;
    this.keys[0] = this.keys[this.size]!;
    this.siftDown(0);
    return true;
  }

  private add(rank: number, position: number): void {
    if (this.size === this.keys.length) {
      const larger = new Float64Array(this.keys.length * 2);
      larger.set(this.keys);
      this.keys = larger;
    }
    this.keys[this.size] = rank * positionRange + position;
    this.size += 1;
  }

  private siftDown(from: number): void {
    const keys = this.keys;
    const size = this.size;
    const key = keys[from]!;
    let at = from;
    for (let child = at * 2 + 1; child < size; child = at * 2 + 1) {
      const smaller = child + 1 < size && keys[child + 1]! < keys[child]! ? child + 1 : child;
      if (keys[smaller]! >= key) {
        break;
      }
      keys[at] = keys[smaller]!;
      at = smaller;
    }
    keys[at] = key;
  }
}
