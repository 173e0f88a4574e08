/** Remembers ids for a while: word that ends something may overtake it. Bounded: over the limit the oldest leave first. */
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

  /** Remembers an id from `nowMs` on, anew if it is known, and lets go of what is too old or too much. */
  add(id: Id, nowMs: number): void {
    this.#addedAtMs.delete(id);
    this.#addedAtMs.set(id, nowMs);
    this.forgetOld(nowMs);
  }

  has(id: Id, nowMs: number): boolean {
    const addedAtMs = this.#addedAtMs.get(id);
    return addedAtMs !== undefined && this.#isFresh(addedAtMs, nowMs);
  }

  /** Lets go of the ids whose time is over, for those who add seldom. */
  forgetOld(nowMs: number): void {
    for (const [id, addedAtMs] of this.#addedAtMs) {
      if (this.#isFresh(addedAtMs, nowMs) && this.#addedAtMs.size <= this.#limit) return;
      this.#addedAtMs.delete(id);
    }
  }

  #isFresh(addedAtMs: number, nowMs: number): boolean {
    return nowMs - addedAtMs < this.#keepMs;
  }
}
