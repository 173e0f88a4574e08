/** One batch of a rank, its events unopened. */
export interface Batch {
  readonly sequence: number;
  readonly events: Uint8Array;
}

/** Batches that wait for what came before them, in order, each once. Over `limit` the oldest goes. */
export class BatchBuffer {
  readonly #limit: number;
  readonly #batches: Batch[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#batches.length;
  }

  /** The oldest batch. */
  get first(): Batch | undefined {
    return this.#batches[0];
  }

  /** Takes a batch. `repeated`: it is here already; `overflowed`: the oldest had to go. */
  add(batch: Batch): "added" | "repeated" | "overflowed" {
    const at = this.#placeOf(batch.sequence);
    if (this.#batches[at - 1]?.sequence === batch.sequence) return "repeated";
    this.#batches.splice(at, 0, batch);
    if (this.#batches.length <= this.#limit) return "added";
    this.#batches.shift();
    return "overflowed";
  }

  /** Takes the oldest batch out. */
  shift(): Batch | undefined {
    return this.#batches.shift();
  }

  /** Drops all up to `sequence`. */
  dropThrough(sequence: number): void {
    this.#batches.splice(0, this.#placeOf(sequence));
  }

  clear(): void {
    this.#batches.length = 0;
  }

  /** The index after the last batch that is not later than `sequence`. Live batches come in order: it looks from the end. */
  #placeOf(sequence: number): number {
    let at = this.#batches.length;
    while (at > 0 && (this.#batches[at - 1]?.sequence ?? 0) > sequence) at -= 1;
    return at;
  }
}
