/** Remembers ids for a while: a cancel may overtake what it cancels. Bounded: the oldest leave first. */
export class RecentIds<Id extends string> {
  readonly #limit: number;
  readonly #keepMs: number;
  readonly #addedAtMs = new Map<Id, number>();

  constructor(options: { readonly limit: number; readonly keepMs: number }) {
    this.#limit = options.limit;
    this.#keepMs = options.keepMs;
  }

  get size(): number {
    return this.#addedAtMs.size;
  }

  add(id: Id, nowMs: number): void {
    this.#addedAtMs.delete(id);
    this.#addedAtMs.set(id, nowMs);
    for (const [oldest, addedAtMs] of this.#addedAtMs) {
      if (this.#addedAtMs.size <= this.#limit && nowMs - addedAtMs < this.#keepMs) return;
      this.#addedAtMs.delete(oldest);
    }
  }

  has(id: Id, nowMs: number): boolean {
    const addedAtMs = this.#addedAtMs.get(id);
    return addedAtMs !== undefined && nowMs - addedAtMs < this.#keepMs;
  }
}
