// Hot path: one call of `batch` for each engine step of each worker. In order it costs a comparison and a publish.
// Bench: bench/source/rank-source.bench.ts

import { BatchBuffer } from "@baton/kv-router";
import type { KvHistory } from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import { xstateClock } from "@baton/runtime";
import { type Actor, createActor } from "xstate";
import {
  type RecoveryEvent,
  type RecoveryOptions,
  type RecoveryState,
  recoveryMachine,
} from "./machine.ts";

/** An entry that only says how far the rank has come. */
const nothing = new Uint8Array();

/** Counts of what went wrong, shared by all sources. */
export interface SourceCounts {
  /** Batches that had been relayed before. */
  repeats: number;
  gaps: number;
  recovered: number;
  failedAsks: number;
  /** Batches that were given up. */
  holes: number;
  /** Batches that a full buffer pushed out. */
  overflows: number;
}

/** What a source is given. */
export interface RankSourceDeps {
  readonly clock: Clock;
  readonly counts: SourceCounts;
  /** Puts an entry on the feed. False if the bus does not take it. */
  emit(kind: "batch" | "reached", sequence: number, events: Uint8Array): boolean;
  /** Asks the worker for batches from `from`, or with null for how far it has come. Calls `done` later and once, with null if it failed. */
  ask(from: number | null, done: (answer: KvHistory | null) => void): void;
}

/** Limits of a source. */
export interface RankSourceOptions extends RecoveryOptions {
  /** Most batches that wait for a recovery. */
  readonly bufferedBatches: number;
}

/**
 * One rank of one generation of a worker: puts its batches on the feed in order, each once, and gets back from the
 * worker what is missing. What its ring has no more is skipped with a `reached`: followers ask for it as each needs it. The first
 * batch that is heard is relayed whatever its number, for the same reason.
 */
export class RankSource {
  readonly #deps: RankSourceDeps;
  readonly #buffer: BatchBuffer;
  readonly #machine: Actor<typeof recoveryMachine>;
  /** The newest batch on the feed; null before the first. */
  #cursor: number | null = null;
  #asks = 0;
  #state: RecoveryState = "following";

  constructor(options: RankSourceOptions, deps: RankSourceDeps) {
    this.#deps = deps;
    this.#buffer = new BatchBuffer(options.bufferedBatches);
    this.#machine = createActor(recoveryMachine, {
      clock: xstateClock(deps.clock),
      input: {
        attempts: options.attempts,
        firstBackoffMs: options.firstBackoffMs,
        maxBackoffMs: options.maxBackoffMs,
        actions: { ask: () => this.#ask(), giveUp: () => this.#giveUp() },
      },
    });
    this.#machine.subscribe(({ value }) => {
      this.#state = value;
    });
    this.#machine.start();
  }

  get state(): RecoveryState {
    return this.#state;
  }

  /** The newest batch on the feed; null before the first. */
  get cursor(): number | null {
    return this.#cursor;
  }

  get buffered(): number {
    return this.#buffer.size;
  }

  /** A batch from the worker. */
  batch(sequence: number, events: Uint8Array): void {
    const state = this.#state;
    // What is sent while the worker is held comes back with the recovery that ends the hold.
    if (state === "held" || state === "closed") return;
    if (state === "following") this.#cursor ??= sequence - 1;
    const cursor = this.#cursor;
    if (cursor !== null && sequence <= cursor) {
      this.#deps.counts.repeats += 1;
    } else if (state !== "following" || cursor === null || sequence !== cursor + 1) {
      this.#miss(sequence, events);
    } else if (!this.#relay(sequence, events)) {
      this.#miss(sequence, events);
    }
  }

  /** The worker has sent batches up to `sequence`: asks for what was not heard; where nothing was, says so on the feed. */
  reach(sequence: number): void {
    if (sequence <= (this.#cursor ?? -1) || this.#state !== "following") return;
    if (this.#cursor !== null) this.#findGap();
    else if (this.#deps.emit("reached", sequence, nothing)) this.#cursor = sequence;
    else this.locate();
  }

  /** Asks the worker how far it has come, and says so on the feed. */
  locate(): void {
    this.#send({ type: "position.wanted" });
  }

  /** The bus was away for a while. */
  busRestored(): void {
    this.#send({ type: "bus.restored" });
  }

  /** The worker fell silent: nothing is relayed until it is back. */
  hold(): void {
    this.#buffer.clear();
    this.#send({ type: "source.held" });
  }

  /** The worker is back. */
  resume(): void {
    this.#send({ type: "source.resumed" });
  }

  /** The end: nothing is emitted any more. */
  close(): void {
    this.#buffer.clear();
    this.#send({ type: "source.closed" });
  }

  #send(event: RecoveryEvent): void {
    if (this.#state !== "closed") this.#machine.send(event);
  }

  #relay(sequence: number, events: Uint8Array): boolean {
    if (!this.#deps.emit("batch", sequence, events)) return false;
    this.#cursor = sequence;
    return true;
  }

  /** Keeps a batch that cannot go out yet, and sees to it that it will. */
  #miss(sequence: number, events: Uint8Array): void {
    const outcome = this.#buffer.add({ sequence, events });
    if (outcome === "repeated") this.#deps.counts.repeats += 1;
    if (outcome === "overflowed") this.#deps.counts.overflows += 1;
    if (this.#state === "following") this.#findGap();
  }

  #findGap(): void {
    this.#deps.counts.gaps += 1;
    this.#send({ type: "gap.found" });
  }

  #ask(): void {
    const cursor = this.#cursor;
    this.#asks += 1;
    const ask = this.#asks;
    this.#deps.ask(cursor === null ? null : cursor + 1, (answer) => {
      if (this.#state === "asking" && ask === this.#asks) this.#hearAnswer(answer);
    });
  }

  #hearAnswer(answer: KvHistory | null): void {
    const before = this.#cursor;
    const isTaken = answer !== null && this.#take(answer);
    if (isTaken) this.#drainBuffer();
    const isPart = answer?.kind === "batches" && answer.next !== null;
    // An answer that brings nothing nearer would be asked for again at once, for ever.
    const isStuck = (this.#buffer.size > 0 || isPart) && before === this.#cursor;
    if (!isTaken || isStuck) {
      this.#deps.counts.failedAsks += 1;
      this.#send({ type: "ask.failed" });
      return;
    }
    this.#deps.counts.recovered += 1;
    this.#send({ type: "answer.taken" });
    if (this.#buffer.size > 0) this.#findGap();
    else if (isPart) this.#send({ type: "gap.found" });
  }

  #take(answer: KvHistory): boolean {
    switch (answer.kind) {
      case "batches":
        return this.#takeBatches(answer);
      case "dump":
        return this.#takePosition(answer.lastSequence);
      case "none":
        return false;
    }
  }

  /** The worker's ring has no more what is missing: whoever needs it asks for a dump. */
  #takePosition(lastSequence: number): boolean {
    const cursor = this.#cursor ?? -1;
    if (lastSequence <= cursor) return lastSequence === cursor;
    if (!this.#deps.emit("reached", lastSequence, nothing)) return false;
    this.#cursor = lastSequence;
    return true;
  }

  #takeBatches({ lastSequence, bodies }: KvHistory): boolean {
    const first = lastSequence - bodies.length + 1;
    this.#cursor ??= first - 1;
    if (first > this.#cursor + 1) return false;
    return bodies.every((body, index) => {
      const sequence = first + index;
      return sequence <= (this.#cursor ?? 0) || this.#relay(sequence, body);
    });
  }

  /** Relays what has become next in line. */
  #drainBuffer(): void {
    const cursor = this.#cursor ?? 0;
    this.#buffer.dropThrough(cursor);
    let next = this.#buffer.first;
    while (next !== undefined && next.sequence === (this.#cursor ?? 0) + 1) {
      if (!this.#relay(next.sequence, next.events)) return;
      this.#buffer.shift();
      next = this.#buffer.first;
    }
  }

  /** Nobody can tell what is missing: followers get what there is, and see the gap. */
  #giveUp(): void {
    let next = this.#buffer.first;
    while (next !== undefined) {
      const missing = this.#cursor === null ? 0 : next.sequence - this.#cursor - 1;
      if (!this.#relay(next.sequence, next.events)) return;
      this.#deps.counts.holes += missing;
      this.#buffer.shift();
      next = this.#buffer.first;
    }
  }
}
