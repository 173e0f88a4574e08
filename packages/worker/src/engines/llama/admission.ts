/** Who may use a sequence next: first come, first served. */

import type { BlockStore } from "./block-store.ts";
import { Deferred } from "./deferred.ts";
import type { LlamaRequest } from "./llama-request.ts";
import type { Slot, SlotTable } from "./slot-table.ts";

interface Waiter {
  readonly request: LlamaRequest;
  readonly blocks: number;
  readonly pick: () => Slot | undefined;
  readonly granted: Deferred<Slot>;
}

export class Admission {
  readonly #slots: SlotTable;
  readonly #store: BlockStore;
  #waiters: Waiter[] = [];

  constructor(slots: SlotTable, store: BlockStore) {
    this.#slots = slots;
    this.#store = store;
  }

  get waiting(): number {
    return this.#waiters.length;
  }

  /**
   * Waits until a sequence is idle and the store can promise `blocks`. `pick` chooses among the idle ones.
   * Rejects when the request ends.
   */
  async enter(request: LlamaRequest, blocks: number, pick: () => Slot | undefined): Promise<Slot> {
    const waiter = { request, blocks, pick, granted: new Deferred<Slot>() };
    this.#waiters.push(waiter);
    this.pump();
    return await request.orEnd(waiter.granted.promise);
  }

  /** Lets in whoever can be. To be called when anything was given back, or a request has ended. */
  pump(): void {
    this.#waiters = this.#waiters.filter((waiter) => !waiter.request.isEnded);
    while (this.#slots.hasIdle) {
      const [next] = this.#waiters;
      if (next === undefined || !this.#store.tryReserve(next.blocks)) return;
      const slot = next.pick();
      if (slot === undefined) throw new Error("no sequence was picked");
      this.#waiters.shift();
      this.#slots.take(slot);
      next.request.slot = slot;
      next.request.reserved = next.blocks;
      next.granted.resolve(slot);
    }
  }

  /** Takes back all that a request was granted. */
  leave(request: LlamaRequest): void {
    this.leaveReservation(request);
    this.leaveSlot(request);
  }

  /** Takes back the sequence: what the request has in the store stays promised. */
  leaveSlot(request: LlamaRequest): void {
    if (request.slot !== undefined) request.slot.busy = false;
    request.slot = undefined;
    this.pump();
  }

  /** Takes back the promised blocks. */
  leaveReservation(request: LlamaRequest): void {
    this.#store.unreserve(request.reserved);
    request.reserved = 0;
    this.pump();
  }
}
