// Hot path: once per pass, over every running sequence. Bench: bench/step.bench.ts
import type { BlockHasher } from "./block-hasher.ts";
import type { BlockPool } from "./block-pool.ts";
import type { EngineRequest } from "./engine-request.ts";
import {
  adoptPrefix,
  commitComplete,
  coverTokens,
  matchPrefix,
  releaseKv,
  type Sequence,
} from "./sequence.ts";
import { SequenceQueue } from "./sequence-queue.ts";

export interface SchedulerOptions {
  readonly maxNumSeqs: number;
  readonly maxNumBatchedTokens: number;
  /** False: a prompt is computed in one pass or not yet. */
  readonly chunkedPrefill: boolean;
  /** Who gives up its blocks when there are none left: the newest running sequence, or the oldest. */
  readonly preemptionMode: "lifo" | "fifo";
}

/** What a composed pass computes; the sums that the timing model asks for. */
export interface ComposedBatch {
  /** Sequences that compute something. */
  sequences: number;
  prefillCount: number;
  prefillTokens: number;
  prefillContextTokens: number;
  prefillPrefixTokens: number;
  prefillLargestShare: number;
  decodeCount: number;
  decodeContextTokens: number;
}

/** Continuous batching: composes passes out of running and waiting sequences under a budget of tokens and a pool of blocks. */
export class MockScheduler<R extends EngineRequest> {
  readonly running: Sequence<R>[] = [];
  /** Sequences preempted since the caller emptied this. */
  readonly preempted: Sequence<R>[] = [];
  readonly batch: ComposedBatch = emptyBatch();
  private readonly waiting = new SequenceQueue<Sequence<R>>();
  private readonly options: SchedulerOptions;
  private readonly pool: BlockPool;
  private readonly hasher: BlockHasher;
  private readonly found: number[] = [];
  private slots = 0;
  private waitingTokenSum = 0;
  private budget = 0;

  constructor(
    options: SchedulerOptions,
    deps: { readonly pool: BlockPool; readonly hasher: BlockHasher },
  ) {
    this.options = options;
    this.pool = deps.pool;
    this.hasher = deps.hasher;
  }

  get waitingSequences(): number {
    return this.waiting.size;
  }

  /** Tokens that waiting sequences would compute without any cache. */
  get waitingTokens(): number {
    return this.waitingTokenSum;
  }

  /** Whether `count` more sequences may run. */
  hasSlots(count: number): boolean {
    return this.slots + count <= this.options.maxNumSeqs;
  }

  /** Counts sequences that run, or are promised to. */
  takeSlots(count: number): void {
    this.slots += count;
  }

  freeSlots(count: number): void {
    this.slots -= count;
  }

  /** Appends a sequence in phase `waiting`. */
  enqueue(sequence: Sequence<R>): void {
    this.waiting.push(sequence);
    this.waitingTokenSum += sequence.known;
  }

  /** Takes out a waiting sequence. */
  dequeue(sequence: Sequence<R>): void {
    if (this.waiting.remove(sequence)) this.waitingTokenSum -= sequence.known;
  }

  /**
   * Lets a sequence without blocks have its leading cached ones, at most `reusable`. Nothing is taken, and the answer
   * false, if there is no room for all that it knows or more than `maxTokens` would be left to compute.
   */
  adopt(sequence: Sequence<R>, reusable: number, maxTokens: number): boolean {
    const { blockSize, blockCount, activeBlocks } = this.pool;
    const active = matchPrefix(sequence, this.pool, reusable, this.found);
    const needed = Math.ceil(sequence.known / blockSize) - active;
    if (needed > blockCount - activeBlocks) return false;
    if (sequence.known - this.found.length * blockSize > maxTokens) return false;
    adoptPrefix(sequence, this.pool, this.found);
    return true;
  }

  /** Composes one pass: running sequences first, then, if none had to be preempted, waiting ones while `mayAdmit`. */
  compose(mayAdmit: boolean): ComposedBatch {
    Object.assign(this.batch, emptyBatch());
    this.budget = this.options.maxNumBatchedTokens;
    const preempted = this.scheduleRunning();
    for (let i = 0; i < this.running.length; i++) this.advance(this.running[i]!);
    if (mayAdmit && !preempted) this.admitWaiting();
    return this.batch;
  }

  private scheduleRunning(): boolean {
    const preemptedBefore = this.preempted.length;
    let at = 0;
    while (at < this.running.length && this.budget > 0) {
      const sequence = this.running[at]!;
      const want = Math.min(sequence.known - sequence.computed, this.budget);
      while (
        sequence.phase === "running" &&
        !coverTokens(sequence, this.pool, sequence.computed + want)
      ) {
        const victim = this.options.preemptionMode === "lifo" ? this.running.length - 1 : 0;
        this.preempt(victim);
        if (victim < at) at--;
      }
      if (this.running[at] !== sequence) continue;
      sequence.scheduled = want;
      this.budget -= want;
      at++;
    }
    return this.preempted.length > preemptedBefore;
  }

  private preempt(at: number): void {
    const victim = this.running[at]!;
    this.running.splice(at, 1);
    this.budget += victim.scheduled;
    this.slots -= victim.slots;
    releaseKv(victim, this.pool);
    victim.prefilling = false;
    victim.moveTo("waiting");
    this.waiting.pushFront(victim);
    this.waitingTokenSum += victim.known;
    this.preempted.push(victim);
  }

  private admitWaiting(): void {
    while (this.budget > 0) {
      const sequence = this.waiting.peek();
      if (sequence === undefined || !this.hasSlots(sequence.slots)) return;
      if (!this.admit(sequence)) return;
    }
  }

  /** Head of line: what does not fit blocks those behind it. */
  private admit(sequence: Sequence<R>): boolean {
    const { known } = sequence;
    // The last block is computed again even if it is cached: its last position gives the next token.
    const reusable = Math.floor((known - 1) / this.pool.blockSize);
    const maxTokens = this.options.chunkedPrefill ? Number.POSITIVE_INFINITY : this.budget;
    if (!this.adopt(sequence, reusable, maxTokens)) return false;
    sequence.scheduled = Math.min(known - sequence.computed, this.budget);
    if (!coverTokens(sequence, this.pool, sequence.computed + sequence.scheduled)) {
      throw new Error("the pool refused blocks that it had room for");
    }
    this.waiting.shift();
    this.waitingTokenSum -= known;
    this.budget -= sequence.scheduled;
    this.slots += sequence.slots;
    sequence.prefilling = true;
    sequence.moveTo("running");
    this.running.push(sequence);
    this.advance(sequence);
    return true;
  }

  private advance(sequence: Sequence<R>): void {
    const { scheduled } = sequence;
    if (scheduled === 0) return;
    const { batch, pool } = this;
    const before = sequence.computed;
    sequence.computed += scheduled;
    batch.sequences++;
    if (sequence.prefilling) {
      const share = scheduled / (sequence.known - sequence.cachedTokens);
      batch.prefillCount++;
      batch.prefillTokens += scheduled;
      batch.prefillContextTokens += sequence.computed;
      batch.prefillPrefixTokens += before;
      batch.prefillLargestShare = Math.max(batch.prefillLargestShare, share);
    }
    if (sequence.computed === sequence.known && sequence.group.kind !== "prefill") {
      batch.decodeCount++;
      batch.decodeContextTokens += sequence.known;
    }
    if (sequence.computed >= (sequence.committed + 1) * pool.blockSize) {
      commitComplete(sequence, pool, this.hasher);
    }
  }
}

function emptyBatch(): ComposedBatch {
  return {
    sequences: 0,
    prefillCount: 0,
    prefillTokens: 0,
    prefillContextTokens: 0,
    prefillPrefixTokens: 0,
    prefillLargestShare: 0,
    decodeCount: 0,
    decodeContextTokens: 0,
  };
}
