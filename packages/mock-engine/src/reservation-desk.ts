import type { BlockPool } from "./block-pool.ts";
import type { EngineRequest } from "./engine-request.ts";
import { type HandoffReservation, type ImportOutcome, PendingImport } from "./handoff.ts";
import type { MockScheduler } from "./scheduler.ts";
import { coverTokens, type Sequence } from "./sequence.ts";
import { SequenceQueue } from "./sequence-queue.ts";

/** The decode side of handoffs before they run: who waits for blocks, who has them and waits for KV. First come, first served. */
export class ReservationDesk<R extends EngineRequest> {
  private readonly queue = new SequenceQueue<Sequence<R>>();
  private readonly imports = new Map<string, PendingImport<R>>();
  private readonly pool: BlockPool;
  private readonly scheduler: MockScheduler<R>;

  constructor(pool: BlockPool, scheduler: MockScheduler<R>) {
    this.pool = pool;
    this.scheduler = scheduler;
  }

  get queued(): number {
    return this.queue.size;
  }

  get reserved(): number {
    return this.imports.size;
  }

  /** Reserves at once if nothing is before the sequence and there is room; else queues it. */
  add(sequence: Sequence<R>): HandoffReservation<R> | undefined {
    const reservation = this.queue.size === 0 ? this.tryReserve(sequence) : undefined;
    if (reservation === undefined) this.queue.push(sequence);
    return reservation;
  }

  /** Reserves for queued sequences while there is room. */
  reserveQueued(reserved: HandoffReservation<R>[]): void {
    for (let next = this.queue.peek(); next !== undefined; next = this.queue.peek()) {
      const reservation = this.tryReserve(next);
      if (reservation === undefined) return;
      this.queue.shift();
      reserved.push(reservation);
    }
  }

  import(id: string, index: number, bytes: Uint8Array): ImportOutcome {
    const pending = this.imports.get(id);
    if (pending === undefined) return { kind: "refused", reason: "unknown_handoff" };
    return pending.import(index, bytes);
  }

  pending(id: string): PendingImport<R> | undefined {
    return this.imports.get(id);
  }

  /** The KV is here: the reservation ends, blocks and slots stay with the sequence. */
  close(id: string): void {
    this.imports.delete(id);
  }

  /** Takes out a sequence that is queued or reserved; its blocks are the caller's to release. */
  remove(sequence: Sequence<R>): void {
    if (sequence.phase === "queued") {
      this.queue.remove(sequence);
      return;
    }
    this.imports.delete(sequence.request.id);
    this.scheduler.freeSlots(sequence.slots);
  }

  private tryReserve(sequence: Sequence<R>): HandoffReservation<R> | undefined {
    const { known } = sequence;
    if (!this.scheduler.hasSlots(sequence.slots)) return undefined;
    const reusable = Math.floor(known / this.pool.blockSize);
    if (!this.scheduler.adopt(sequence, reusable, Number.POSITIVE_INFINITY)) return undefined;
    if (!coverTokens(sequence, this.pool, known)) {
      throw new Error("the pool refused blocks that it had room for");
    }
    this.scheduler.takeSlots(sequence.slots);
    sequence.moveTo("reserved");
    const pending = new PendingImport(sequence, this.pool.blockSize);
    this.imports.set(sequence.request.id, pending);
    return pending.reservation;
  }
}
