// Hot path: beginPass and finishPass once per pass. Bench: bench/step.bench.ts
import type { BlockHasher } from "./block-hasher.ts";
import { BlockPool } from "./block-pool.ts";
import {
  type EngineOptions,
  type ResolvedEngineOptions,
  resolveEngineOptions,
} from "./engine-options.ts";
import {
  type AddOutcome,
  type EngineRequest,
  type RejectionReason,
  type RequestKind,
  rejectionOf,
} from "./engine-request.ts";
import {
  type AddPrefilledOutcome,
  type ArrivalOutcome,
  type HandoffReservation,
  type ImportOutcome,
  simulatedKv,
} from "./handoff.ts";
import type { KvEvent } from "./kv-event.ts";
import type { EngineLoad, Pass, PassResult } from "./pass.ts";
import { RequestBook } from "./request-book.ts";
import { ReservationDesk } from "./reservation-desk.ts";
import { type ComposedBatch, MockScheduler } from "./scheduler.ts";
import { commitComplete, type RequestGroup, type Sequence } from "./sequence.ts";
import { Settler } from "./settler.ts";
import type { TimingModel } from "./timing-model.ts";

export interface EngineDeps {
  readonly hasher: BlockHasher;
  readonly timing: TimingModel;
  /**
   * A pool that several engines share, as a bound on what caching could do: what one has computed, all can reuse. Its events
   * come with whichever engine's pass ends first. Pass times, and what is refused, go by the engine's own `blockCount`. By
   * default an engine has its own pool.
   */
  readonly pool?: BlockPool | undefined;
}

/**
 * A simulated paged-attention engine. The host drives it: `beginPass(nowMs)`, wait until `endsAtMs` on its own clock,
 * `finishPass()`. Requests may be added, cancelled, released and handed over at any time; a pass under way
 * is not changed by it, except that a cancelled sequence is gone from it.
 */
export class MockEngine<R extends EngineRequest> {
  readonly options: ResolvedEngineOptions;
  private readonly hasher: BlockHasher;
  private readonly timing: TimingModel;
  private readonly pool: BlockPool;
  private readonly scheduler: MockScheduler<R>;
  private readonly book: RequestBook<R>;
  private readonly desk: ReservationDesk<R>;
  private readonly settler: Settler<R>;
  private pass: Pass | undefined;
  private preemptionsTotal = 0;
  private reserved: HandoffReservation<R>[] = [];

  constructor(options: EngineOptions, deps: EngineDeps) {
    const { hasher } = deps;
    this.options = resolveEngineOptions(options);
    this.hasher = hasher;
    this.timing = deps.timing;
    this.pool = deps.pool ?? new BlockPool(this.options);
    if (this.pool.blockSize !== this.options.blockSize) {
      throw new RangeError("a shared pool must have the engine's block size");
    }
    this.scheduler = new MockScheduler(this.options, { pool: this.pool, hasher });
    this.book = new RequestBook(this.pool, hasher);
    this.desk = new ReservationDesk(this.pool, this.scheduler);
    this.settler = new Settler(this.options, { book: this.book, scheduler: this.scheduler });
  }

  /** Takes a request that is computed and generated here. */
  addGenerate(request: R): AddOutcome {
    return this.addWaiting(request, "generate");
  }

  /** Takes a request of which only the prompt is computed and the first token of each choice sampled. */
  addPrefill(request: R): AddOutcome {
    return this.addWaiting(request, "prefill");
  }

  /**
   * Takes a request whose prompt was computed elsewhere, with the first token of each choice. Its blocks are reserved at
   * once if nothing is before it and there is room. It runs after `handoffArrived`.
   */
  addPrefilled(request: R, firstTokens: readonly number[]): AddPrefilledOutcome<R> {
    const reason = this.rejectionOf(request);
    if (reason !== undefined) return { kind: "rejected", reason };
    if (firstTokens.length !== request.plans.length) {
      return { kind: "rejected", reason: "first_tokens_mismatch" };
    }
    const reservation = this.desk.add(this.book.open(request, "decode", firstTokens));
    return reservation === undefined ? { kind: "queued" } : { kind: "reserved", reservation };
  }

  /** Takes one missing block of a reserved prompt, if it has the content that it must have. */
  importBlock(id: string, index: number, bytes: Uint8Array): ImportOutcome {
    return this.desk.import(id, index, bytes);
  }

  /**
   * The KV of a reserved prompt is here: its blocks become reusable and its sequences run. Every missing block must have
   * been imported, unless contents are `simulated`, as in a replay that moves nothing.
   */
  handoffArrived(id: string, contents: "imported" | "simulated" = "imported"): ArrivalOutcome<R> {
    const pending = this.desk.pending(id);
    if (pending === undefined) return { kind: "unknown_handoff" };
    const missing = contents === "imported" ? pending.missing() : [];
    if (missing.length > 0) return { kind: "incomplete", missing };
    const { sequence } = pending;
    this.desk.close(id);
    sequence.computed = sequence.known;
    commitComplete(sequence, this.pool, this.hasher);
    sequence.moveTo("running");
    this.settler.start(sequence);
    return { kind: "ready", outputs: this.settler.arrivals, ended: !this.book.has(id) };
  }

  /** The simulated KV of one block of a staged prompt, or nothing if none such is staged. */
  exportBlock(id: string, index: number): Uint8Array | undefined {
    const staged = this.stagedSequence(id);
    if (staged === undefined || index < 0 || index >= staged.blocks.length) return undefined;
    return simulatedKv(staged.request.promptTokens, index, this.pool.blockSize);
  }

  /** Frees a staged prompt: it was pulled, released or has expired. False if none such is staged. */
  releaseHandoff(id: string): boolean {
    const staged = this.stagedSequence(id);
    if (staged === undefined) return false;
    this.settler.endStaged(staged);
    return true;
  }

  /** Whether the engine holds a request: from its acceptance until it ended, or was cancelled or released. */
  has(id: string): boolean {
    return this.book.has(id);
  }

  /**
   * Ends a request, or one choice of it, in whatever phase, and frees what it holds at once, also while a pass computes it.
   * False if it is not here. A request that is gone by it (`has`) does not appear in `ended`.
   */
  cancel(id: string, choice?: number): boolean {
    const group = this.book.find(id);
    if (group === undefined) return false;
    if (choice !== undefined) return this.cancelChoice(group, choice);
    for (const sequence of group.sequences.slice()) this.drop(sequence);
    return true;
  }

  /** Forgets all cached blocks; sequences keep those that they use. */
  clearCache(): void {
    this.pool.clear();
  }

  /** Composes the next pass. Nothing if there is nothing to do until a request is added, arrives, or gives back blocks. */
  beginPass(nowMs: number): Pass | undefined {
    if (this.pass !== undefined) throw new Error("a pass is under way");
    this.desk.reserveQueued(this.reserved);
    const batch = this.scheduler.compose(this.desk.queued === 0);
    const reports = this.reserved.length + this.scheduler.preempted.length;
    if (batch.sequences === 0 && reports === 0) return undefined;
    this.pass = {
      startedAtMs: nowMs,
      endsAtMs: nowMs + this.durationMs(batch),
      prefillTokens: batch.prefillTokens,
      decodeSequences: batch.decodeCount,
    };
    return this.pass;
  }

  /** Ends the pass under way and tells what it did. */
  finishPass(): PassResult<R> {
    const { pass } = this;
    if (pass === undefined) throw new Error("no pass is under way");
    const { prefills, ended } = this.settler.settleRunning();
    this.pass = undefined;
    const preempted = this.scheduler.preempted.map((sequence) => sequence.request);
    this.scheduler.preempted.length = 0;
    this.preemptionsTotal += preempted.length;
    const { reserved } = this;
    this.reserved = [];
    const { outputs } = this.settler;
    return { pass, outputs, prefills, ended, preempted, reserved, events: this.pool.events.take() };
  }

  /** Events that no pass result will bring soon. Empty while a pass is under way, whose result has them in order. */
  takeEvents(): KvEvent[] {
    return this.pass === undefined ? this.pool.events.take() : [];
  }

  /** The cached blocks as `stored` events, parents first. Between passes, after `takeEvents`, it is what followers should have. */
  snapshot(): KvEvent[] {
    return this.pool.snapshot();
  }

  load(): EngineLoad {
    return {
      totalBlocks: this.pool.blockCount,
      activeBlocks: this.pool.activeBlocks,
      cachedBlocks: this.pool.cachedBlocks,
      freeBlocks: this.pool.freeBlocks,
      runningSequences: this.scheduler.running.length,
      waitingSequences: this.scheduler.waitingSequences,
      waitingPrefillTokens: this.scheduler.waitingTokens,
      stagedHandoffs: this.settler.stagedCount,
      reservedHandoffs: this.desk.reserved,
      queuedHandoffs: this.desk.queued,
      preemptionsTotal: this.preemptionsTotal,
    };
  }

  private addWaiting(request: R, kind: RequestKind): AddOutcome {
    const reason = this.rejectionOf(request);
    if (reason !== undefined) return { kind: "rejected", reason };
    this.scheduler.enqueue(this.book.open(request, kind, []));
    return { kind: "accepted" };
  }

  private rejectionOf(request: R): RejectionReason | undefined {
    return this.book.has(request.id) ? "duplicate_id" : rejectionOf(request, this.options);
  }

  private durationMs(batch: ComposedBatch): number {
    let durationMs = 0;
    if (batch.prefillCount > 0) {
      durationMs += this.timing.prefillMs({
        count: batch.prefillCount,
        contextTokens: batch.prefillContextTokens,
        prefixTokens: batch.prefillPrefixTokens,
        largestShare: batch.prefillLargestShare,
      });
    }
    if (batch.decodeCount > 0) {
      durationMs += this.timing.decodeMs({
        count: batch.decodeCount,
        contextTokens: batch.decodeContextTokens,
        capacityTokens: this.options.blockCount * this.options.blockSize,
      });
    }
    return durationMs;
  }

  private stagedSequence(id: string): Sequence<R> | undefined {
    const sequence = this.book.find(id)?.sequences[0];
    return sequence?.phase === "staged" ? sequence : undefined;
  }

  private cancelChoice(group: RequestGroup<R>, choice: number): boolean {
    const count = group.request.plans.length;
    if (!Number.isInteger(choice) || choice < 0 || choice >= count) return false;
    const only = group.sequences[0]!;
    const unforked = count > 1 && (only.slots > 1 || group.kind === "prefill");
    if (!unforked) {
      const sequence = group.sequences.find((candidate) => candidate.choice === choice);
      if (sequence !== undefined) this.drop(sequence);
      return sequence !== undefined;
    }
    const cancelled = group.cancelledChoices ?? new Set<number>();
    group.cancelledChoices = cancelled;
    cancelled.add(choice);
    if (cancelled.size === count) this.drop(only);
    return true;
  }

  /** Ends a cancelled sequence. */
  private drop(sequence: Sequence<R>): void {
    switch (sequence.phase) {
      case "queued":
      case "reserved":
        this.desk.remove(sequence);
        this.book.forget(sequence);
        break;
      case "waiting":
        this.scheduler.dequeue(sequence);
        this.book.forget(sequence);
        break;
      case "running":
        this.dropRunning(sequence);
        break;
      case "staged":
        this.settler.endStaged(sequence);
        break;
      case "ended":
        break;
    }
  }

  private dropRunning(sequence: Sequence<R>): void {
    const { running } = this.scheduler;
    running.splice(running.indexOf(sequence), 1);
    this.settler.endRunning(sequence);
  }
}
