/** First come, first served, with a way back to the front and out from anywhere. */
export class SequenceQueue<T> {
  private items: T[] = [];
  private head = 0;

  get size(): number {
    return this.items.length - this.head;
  }

  /** The next one, if any. */
  peek(): T | undefined {
    return this.items[this.head];
  }

  push(item: T): void {
    this.items.push(item);
  }

  pushFront(item: T): void {
    if (this.head > 0) this.items[--this.head] = item;
    else this.items.unshift(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    const item = this.items[this.head++];
    if (this.head > 32 && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return item;
  }

  /** Takes one out; false if it is not here. */
  remove(item: T): boolean {
    const at = this.items.indexOf(item, this.head);
    if (at < 0) return false;
    this.items.splice(at, 1);
    return true;
  }
}
