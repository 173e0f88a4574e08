/** A list of token ids that grows. */
export class IdBuffer {
  ids: Uint32Array;
  length = 0;

  constructor(capacity: number) {
    this.ids = new Uint32Array(Math.max(capacity, 16));
  }

  push(id: number): void {
    if (this.length === this.ids.length) {
      this.reserve(1);
    }
    this.ids[this.length] = id;
    this.length += 1;
  }

  pushAll(ids: ArrayLike<number>): void {
    this.reserve(ids.length);
    this.ids.set(ids, this.length);
    this.length += ids.length;
  }

  /** Makes room for `count` more ids. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed > this.ids.length) {
      const larger = new Uint32Array(Math.max(needed, this.ids.length * 2));
      larger.set(this.ids.subarray(0, this.length));
      this.ids = larger;
    }
  }

  /** A copy of the ids, of their exact length. */
  toArray(): Uint32Array {
    return this.ids.slice(0, this.length);
  }
}
