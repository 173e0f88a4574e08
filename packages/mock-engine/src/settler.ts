// Hot path: once per pass, over every running sequence. Bench: bench/step.bench.ts
import { emitFirstTokens, emitNext, emitToken } from "./emit.ts";
import type { EngineRequest } from "./engine-request.ts";
import type { PrefillDone } from "./pass.ts";
import type { RequestBook } from "./request-book.ts";
import type { MockScheduler } from "./scheduler.ts";
import type { Sequence } from "./sequence.ts";
import { StepOutputs } from "./step-outputs.ts";

export interface SettlerDeps<R extends EngineRequest> {
  readonly book: RequestBook<R>;
  readonly scheduler: MockScheduler<R>;
}

export interface SettlerLimits {
  readonly maxModelLen: number;
  readonly blockCount: number;
  readonly blockSize: number;
}

/** Gives sequences their tokens when a pass ends or a handoff arrives, and ends, forks or stages them. */
export class Settler<R extends EngineRequest> {
  /** Tokens of the latest pass. */
  readonly outputs: StepOutputs<R> = new StepOutputs();
  /** First tokens of the latest handoff. */
  readonly arrivals: StepOutputs<R> = new StepOutputs();
  private readonly book: RequestBook<R>;
  private readonly scheduler: MockScheduler<R>;
  private readonly maxModelLen: number;
  /** Prompt and output together: what model and pool can hold, and one token whose KV is never needed. */
  private readonly lengthLimit: number;
  private prefills: PrefillDone<R>[] = [];
  private ended: R[] = [];
  private staged = 0;

  constructor(limits: SettlerLimits, deps: SettlerDeps<R>) {
    this.book = deps.book;
    this.scheduler = deps.scheduler;
    this.maxModelLen = limits.maxModelLen;
    this.lengthLimit = Math.min(limits.maxModelLen, limits.blockCount * limits.blockSize + 1);
  }

  /** Prompts that are held for other workers. */
  get stagedCount(): number {
    return this.staged;
  }

  /** Ends a pass for every running sequence, keeping those that go on in order; forks come last. */
  settleRunning(): { prefills: readonly PrefillDone<R>[]; ended: readonly R[] } {
    const { running } = this.scheduler;
    const count = running.length;
    let kept = 0;
    this.outputs.clear();
    for (let i = 0; i < count; i++) {
      const sequence = running[i]!;
      if (this.settle(sequence)) running[kept++] = sequence;
    }
    for (let i = count; i < running.length; i++) running[kept++] = running[i]!;
    running.length = kept;
    const { prefills, ended } = this;
    this.prefills = [];
    this.ended = [];
    return { prefills, ended };
  }

  /** Starts the choices of a handed-over prompt with the first tokens that came with it. */
  start(sequence: Sequence<R>): void {
    this.arrivals.clear();
    for (const fork of this.fork(sequence)) {
      const firstToken = fork.group.firstTokens[fork.choice]!;
      const ends = emitToken(fork, firstToken, this.arrivals, this.lengthLimit);
      if (ends) this.endRunning(fork);
      else this.scheduler.running.push(fork);
    }
  }

  /** Ends a running sequence that is off the list of running ones. True if it was the last of its request. */
  endRunning(sequence: Sequence<R>): boolean {
    this.scheduler.freeSlots(sequence.slots);
    return this.book.forget(sequence);
  }

  /** Frees a staged prompt. */
  endStaged(sequence: Sequence<R>): void {
    this.staged--;
    this.book.forget(sequence);
  }

  /** Whether the sequence goes on running. */
  private settle(sequence: Sequence<R>): boolean {
    const { scheduled, group } = sequence;
    sequence.scheduled = 0;
    if (scheduled === 0 || sequence.computed < sequence.known) return true;
    sequence.prefilling = false;
    if (group.kind === "prefill") {
      this.stage(sequence);
      return false;
    }
    if (group.kind === "generate" && !group.prefillReported) this.reportPrefill(sequence, false);
    return sequence.slots === 1 ? this.emit(sequence) : this.settleForks(sequence);
  }

  /** The prompt of a request with several choices is computed: each goes its own way. */
  private settleForks(sequence: Sequence<R>): boolean {
    let goesOn = false;
    for (const fork of this.fork(sequence)) {
      const forkGoesOn = this.emit(fork);
      if (fork === sequence) goesOn = forkGoesOn;
      else if (forkGoesOn) this.scheduler.running.push(fork);
    }
    return goesOn;
  }

  /** The choices of a computed prompt, without those that were cancelled meanwhile. */
  private fork(sequence: Sequence<R>): Sequence<R>[] {
    const forks = this.book.fork(sequence);
    const cancelled = sequence.group.cancelledChoices;
    if (cancelled === undefined) return forks;
    for (const fork of forks) if (cancelled.has(fork.choice)) this.endRunning(fork);
    return forks.filter((fork) => fork.phase !== "ended");
  }

  private emit(sequence: Sequence<R>): boolean {
    const ends = emitNext(sequence, this.outputs, this.lengthLimit);
    if (ends) this.finish(sequence);
    return !ends;
  }

  /** Samples the first tokens and holds the prompt for another worker, unless no choice goes on. */
  private stage(sequence: Sequence<R>): void {
    const goingOn = emitFirstTokens(sequence, this.outputs, this.maxModelLen);
    this.reportPrefill(sequence, goingOn > 0);
    if (goingOn === 0) {
      this.finish(sequence);
      return;
    }
    this.scheduler.freeSlots(sequence.slots);
    sequence.moveTo("staged");
    this.staged++;
  }

  private reportPrefill(sequence: Sequence<R>, staged: boolean): void {
    const { request, group, firstCachedTokens: cachedTokens = 0 } = sequence;
    group.prefillReported = true;
    const promptTokens = request.promptTokens.length;
    this.prefills.push({ request, kind: group.kind, promptTokens, cachedTokens, staged });
  }

  private finish(sequence: Sequence<R>): void {
    if (this.endRunning(sequence)) this.ended.push(sequence.request);
  }
}
