/** Block ids in the order in which they came, with removal from anywhere: two typed arrays, nothing allocated per move. */
export class BlockList {
  private readonly previous: Int32Array;
  private readonly following: Int32Array;
  /** The sentinel closes the ring: the first block follows it, the last precedes it. */
  private readonly sentinel: number;
  private length = 0;

  constructor(blockCount: number) {
    this.sentinel = blockCount;
    this.previous = new Int32Array(blockCount + 1);
    this.following = new Int32Array(blockCount + 1);
    this.clear();
  }

  /** How many blocks are listed. */
  get size(): number {
    return this.length;
  }

  /** The block that has been here longest, or -1. */
  get first(): number {
    return this.length === 0 ? -1 : this.following[this.sentinel]!;
  }

  /** Appends a block that is not listed. */
  push(id: number): void {
    const last = this.previous[this.sentinel]!;
    this.following[last] = id;
    this.previous[id] = last;
    this.following[id] = this.sentinel;
    this.previous[this.sentinel] = id;
    this.length++;
  }

  /** Takes out a block that is listed. */
  remove(id: number): void {
    const before = this.previous[id]!;
    const after = this.following[id]!;
    this.following[before] = after;
    this.previous[after] = before;
    this.length--;
  }

  clear(): void {
    this.previous[this.sentinel] = this.sentinel;
    this.following[this.sentinel] = this.sentinel;
    this.length = 0;
  }
}
