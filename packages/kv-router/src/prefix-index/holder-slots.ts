import type { RankSlot } from "./prefix-index.ts";

/**
 * Who answers for a slot. What a rank is told to hold belongs to a holder, and a slot points to one: so clearing a rank and
 * swapping in what was loaded is a change of one pointer, and the holder that nobody points to any more is gone.
 */
export class HolderSlots {
  readonly #ofSlot: number[] = [];
  readonly #staged = new Map<RankSlot, number>();
  /** By holder: its slot, or -1. */
  readonly #slots: number[] = [];
  readonly #gone: boolean[] = [];
  /** Whether the index gave up blocks of the holder. */
  readonly #lost: boolean[] = [];
  readonly #free: number[] = [];
  /** Gone holders that no job looks after: those of loads that others took the place of. */
  #loose: number[] = [];
  #version = 0;

  /** One more than the highest slot. */
  get slots(): number {
    return this.#ofSlot.length;
  }

  /** The holder of a slot; -1 if it has none. */
  ofSlot(slot: RankSlot): number {
    return this.#ofSlot[slot] ?? -1;
  }

  /** The slot of a holder; -1 if it answers for none. */
  slotOf(holder: number): RankSlot {
    return this.#slots[holder]!;
  }

  /** By holder, what `slotOf` says; not to be changed. */
  get slotTable(): readonly RankSlot[] {
    return this.#slots;
  }

  /** Changes when somebody goes or comes. */
  get version(): number {
    return this.#version;
  }

  /** Whether no slot will ever point to the holder again. */
  readonly isGone = (holder: number): boolean => this.#gone[holder]!;

  hasLost(holder: number): boolean {
    return this.#lost[holder]!;
  }

  lose(holder: number): void {
    this.#lost[holder] = true;
  }

  /** A holder that answers for no slot yet. */
  open(): number {
    const holder = this.#free.pop() ?? this.#slots.length;
    this.#slots[holder] = -1;
    this.#gone[holder] = false;
    this.#version += 1;
    this.#lost[holder] = false;
    return holder;
  }

  /** Says that no block is left with a holder that is gone. */
  close(holder: number): void {
    this.#free.push(holder);
  }

  assign(slot: RankSlot, holder: number): void {
    while (this.#ofSlot.length <= slot) this.#ofSlot.push(-1);
    this.#ofSlot[slot] = holder;
    this.#slots[holder] = slot;
  }

  /** Takes holder and load away from a slot. Returns all that nobody looks after. */
  detach(slot: RankSlot): readonly number[] {
    this.#drop(this.#staged.get(slot));
    this.#staged.delete(slot);
    this.#drop(this.#ofSlot[slot]);
    if (slot < this.#ofSlot.length) this.#ofSlot[slot] = -1;
    return this.#takeLoose();
  }

  stage(slot: RankSlot, holder: number): void {
    this.#drop(this.#staged.get(slot));
    this.#staged.set(slot, holder);
  }

  isStaged(slot: RankSlot, holder: number): boolean {
    return this.#staged.get(slot) === holder;
  }

  /** Lets the staged holder answer for the slot. Returns all that nobody looks after. */
  commit(slot: RankSlot): readonly number[] {
    const staged = this.#staged.get(slot);
    this.#staged.delete(slot);
    this.#drop(this.#ofSlot[slot]);
    if (staged !== undefined) this.assign(slot, staged);
    return this.#takeLoose();
  }

  unstage(slot: RankSlot): readonly number[] {
    this.#drop(this.#staged.get(slot));
    this.#staged.delete(slot);
    return this.#takeLoose();
  }

  #drop(holder: number | undefined): void {
    if (holder === undefined || holder === -1) return;
    this.#slots[holder] = -1;
    this.#gone[holder] = true;
    this.#version += 1;
    this.#loose.push(holder);
  }

  #takeLoose(): readonly number[] {
    const loose = this.#loose;
    this.#loose = [];
    return loose;
  }
}
