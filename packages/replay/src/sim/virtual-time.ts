// Hot path: once per engine pass, millions in a long trace. Bench: bench/replay.bench.ts
import { EventHeap, type HeapEvent } from "@baton/runtime";

/** Something that happens at a time. One that is not planned may be used again. */
export class Happening implements HeapEvent {
  atMs = 0;
  sequence = 0;
  readonly happen: () => void;

  constructor(happen: () => void) {
    this.happen = happen;
  }
}

/** Virtual time: it moves from one happening to the next. Those of the same time happen in the order in which they were planned. */
export class VirtualTime {
  readonly #heap = new EventHeap<Happening>();
  #nowMs = 0;
  #planned = 0;

  /** Ms since the first arrival. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Plans a happening; one that would lie in the past happens now. */
  plan(atMs: number, happening: Happening): void {
    happening.atMs = Math.max(atMs, this.#nowMs);
    happening.sequence = this.#planned++;
    this.#heap.push(happening);
  }

  /** Runs until nothing is planned. */
  run(): void {
    for (let next = this.#heap.pop(); next !== undefined; next = this.#heap.pop()) {
      this.#nowMs = next.atMs;
      next.happen();
    }
  }
}
