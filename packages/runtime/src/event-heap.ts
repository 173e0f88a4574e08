/** Something that is due at a time; equal times run in the order of `sequence`. */
export interface HeapEvent {
  atMs: number;
  sequence: number;
}

/** A binary heap of events, the earliest first. */
export class EventHeap<E extends HeapEvent> {
  readonly #events: E[] = [];

  get size(): number {
    return this.#events.length;
  }

  peek(): E | undefined {
    return this.#events[0];
  }

  push(event: E): void {
    const events = this.#events;
    let index = events.length;
    events.push(event);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = events[parentIndex];
      if (parent === undefined || !isBefore(event, parent)) break;
      events[index] = parent;
      index = parentIndex;
    }
    events[index] = event;
  }

  pop(): E | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (first !== last && last !== undefined) this.#sink(last);
    return first;
  }

  #sink(event: E): void {
    const events = this.#events;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      let child = events[left];
      if (child === undefined) break;
      let childIndex = left;
      const right = events[left + 1];
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        childIndex = left + 1;
      }
      if (!isBefore(child, event)) break;
      events[index] = child;
      index = childIndex;
    }
    events[index] = event;
  }
}

function isBefore(a: HeapEvent, b: HeapEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.sequence < b.sequence);
}
