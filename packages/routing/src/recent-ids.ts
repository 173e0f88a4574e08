/** Remembers ids for a while: a cancel may overtake what it cancels. Bounded: the oldest leave first. */
export class RecentIds<Id extends string> {
  readonly #limit: number;
  readonly #keepMs: number;
  /** In the order of adding, the oldest first. */
  readonly #addedAtMs = new Map<Id, number>();

  constructor(options: { readonly limit: number; readonly keepMs: number }) {
    this.#limit = options.limit;
    this.#keepMs = options.keepMs;
  }

  get size(): number {
    return this.#addedAtMs.size;
  }

  /** Remembers an id from `nowMs` on, again if it is known. */
  add(id: Id, nowMs: number): void {
    this.#addedAtMs.delete(id);
    this.#addedAtMs.set(id, nowMs);
    if (this.#addedAtMs.size <= this.#limit) return;
    const [oldest] = this.#addedAtMs.keys();
    if (oldest !== undefined) this.#addedAtMs.delete(oldest);
  }

  has(id: Id, nowMs: number): boolean {
    const addedAtMs = this.#addedAtMs.get(id);
    return addedAtMs !== undefined && nowMs - addedAtMs < this.#keepMs;
  }

  /** Lets go of the ids whose time is over. */
  forgetOld(nowMs: number): void {
    for (const [id, addedAtMs] of this.#addedAtMs) {
      if (nowMs - addedAtMs < this.#keepMs) return;
      this.#addedAtMs.delete(id);
    }
  }
}
