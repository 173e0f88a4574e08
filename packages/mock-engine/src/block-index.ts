const none = -1;

/** Which block has a sequence hash: chained hash table over block ids, at most one block a hash. */
export class BlockIndex {
  private readonly low: Uint32Array;
  private readonly high: Uint32Array;
  private readonly chained: Int32Array;
  private readonly buckets: Int32Array;
  private readonly mask: number;

  constructor(blockCount: number) {
    const bucketCount = 2 ** Math.ceil(Math.log2(Math.max(2, blockCount)));
    this.low = new Uint32Array(blockCount);
    this.high = new Uint32Array(blockCount);
    this.chained = new Int32Array(blockCount);
    this.buckets = new Int32Array(bucketCount).fill(none);
    this.mask = bucketCount - 1;
  }

  /** The block with this hash, or -1. */
  find(low: number, high: number): number {
    let id = this.buckets[this.bucketOf(low, high)]!;
    while (id !== none && (this.low[id] !== low || this.high[id] !== high)) id = this.chained[id]!;
    return id;
  }

  /** Adds a block; its hash must not be here. */
  insert(id: number, low: number, high: number): void {
    const bucket = this.bucketOf(low, high);
    this.low[id] = low;
    this.high[id] = high;
    this.chained[id] = this.buckets[bucket]!;
    this.buckets[bucket] = id;
  }

  /** Takes out a block that is here. */
  remove(id: number): void {
    const bucket = this.bucketOf(this.low[id]!, this.high[id]!);
    let at = this.buckets[bucket]!;
    if (at === id) {
      this.buckets[bucket] = this.chained[id]!;
      return;
    }
    while (this.chained[at]! !== id) at = this.chained[at]!;
    this.chained[at] = this.chained[id]!;
  }

  /** Low word of the hash under which a block was inserted. */
  lowOf(id: number): number {
    return this.low[id]!;
  }

  /** High word of the hash under which a block was inserted. */
  highOf(id: number): number {
    return this.high[id]!;
  }

  clear(): void {
    this.buckets.fill(none);
  }

  private bucketOf(low: number, high: number): number {
    const mixed = Math.imul(low ^ (high >>> 7), 0x9e3779b1);
    return (mixed ^ (mixed >>> 15)) & this.mask;
  }
}
