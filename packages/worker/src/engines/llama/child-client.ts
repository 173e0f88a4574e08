/** The worker's side of one child: calls that settle, and a watch over its silence. One child, one client. */

import { ServingError } from "@baton/protocol";
import type { Clock, Timer } from "@baton/runtime";
import type { EngineChild, StartChild } from "./child-process.ts";
import type {
  ChildMessage,
  LoadCommand,
  LoadedEvent,
  RunCommand,
  SlotCommand,
  StepEvent,
} from "./child-protocol.ts";

/** How a run left the child. */
export type RunEnd = "finished" | "saved" | "forked" | "cancelled";

export interface ChildClientEvents {
  onStep(step: StepEvent): void;
  onLog(level: string, line: string): void;
  /** The child is gone, and every call on it has failed with this error. Not called after `close`. */
  onLost(error: ServingError): void;
}

export interface ChildClientOptions {
  readonly clock: Clock;
  readonly startChild: StartChild;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How long a child with work may say nothing. */
  readonly silentMs: number;
  /** How long loading may take. */
  readonly loadMs: number;
}

interface Waiting<T> {
  resolve(value: T): void;
  reject(error: ServingError): void;
}

interface WaitingRun extends Waiting<RunEnd> {
  readonly isForked: boolean;
}

const watchIntervalMs = 1_000;

export class ChildClient {
  readonly #options: ChildClientOptions;
  readonly #events: ChildClientEvents;
  readonly #child: EngineChild;
  readonly #watch: Timer;
  readonly #runs = new Map<number, WaitingRun>();
  readonly #calls = new Map<number, Waiting<void>>();
  #loading: Waiting<LoadedEvent> | undefined;
  #lastSignMs = 0;
  #lastCall = 0;
  #lost: ServingError | undefined;

  constructor(options: ChildClientOptions, events: ChildClientEvents) {
    this.#options = options;
    this.#events = events;
    this.#child = options.startChild(options.env, {
      onMessage: (message) => this.#receive(message),
      onExit: (why) => this.#lose(why),
      onLine: (line) => events.onLog("debug", line),
    });
    this.#lastSignMs = options.clock.nowMs();
    this.#watch = options.clock.setRepeating(watchIntervalMs, () => this.#checkSilence());
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Loads the model. Rejects with `engine_failed` or `engine_lost`. */
  load(command: LoadCommand): Promise<LoadedEvent> {
    return this.#start((waiting) => {
      this.#loading = waiting;
      this.#child.send(command);
    });
  }

  /** Runs until the end, a pause or a cancel. A run with choices ends by a pause. Rejects with `engine_failed` or `engine_lost`. */
  run(command: RunCommand): Promise<RunEnd> {
    return this.#start((waiting) => {
      this.#runs.set(command.run, { ...waiting, isForked: command.choiceSeeds !== null });
      this.#child.send(command);
    });
  }

  /** Stops a run at the next step. One that has ended, or is ending, takes no notice. */
  cancel(run: number): void {
    if (this.#runs.has(run)) this.#child.send({ kind: "cancel", run });
  }

  /** Saves a slot's state to a file. */
  save(slot: number, path: string): Promise<void> {
    return this.#call((call) => ({ kind: "save", call, slot, path }));
  }

  /** Replaces what a slot holds by the state of a file, of so many tokens. A failure empties the slot. */
  restore(slot: number, path: string, tokens: number): Promise<void> {
    return this.#call((call) => ({ kind: "restore", call, slot, path, tokens }));
  }

  /** Ends the child at once, and quietly: what waits for it is rejected, `onLost` is not called. */
  close(): void {
    const error = new ServingError("engine_lost", { problem: "the engine is stopped" });
    this.#end(error);
    this.#child.kill();
  }

  #call(command: (call: number) => SlotCommand): Promise<void> {
    return this.#start((waiting) => {
      this.#lastCall += 1;
      this.#calls.set(this.#lastCall, waiting);
      this.#child.send(command(this.#lastCall));
    });
  }

  #start<T>(send: (waiting: Waiting<T>) => void): Promise<T> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    if (!this.#hasWork()) this.#lastSignMs = this.#options.clock.nowMs();
    return new Promise((resolve, reject) => send({ resolve, reject }));
  }

  #receive(message: ChildMessage): void {
    if (this.#lost !== undefined) return;
    this.#lastSignMs = this.#options.clock.nowMs();
    switch (message.kind) {
      case "loaded":
        this.#loading?.resolve(message);
        this.#loading = undefined;
        return;
      case "step":
        this.#receiveStep(message);
        return;
      case "saved":
      case "forked":
      case "cancelled":
        this.#endRun(message.run)?.resolve(message.kind);
        return;
      case "failed":
        this.#endRun(message.run)?.reject(failed(message.problem));
        return;
      case "done":
        this.#receiveDone(message.call, message.problem);
        return;
      case "log":
        this.#events.onLog(message.level, message.line);
        return;
      case "unusable":
        this.#fail(failed(message.problem));
        return;
    }
  }

  #receiveStep(step: StepEvent): void {
    this.#events.onStep(step);
    for (const { run, finish } of step.outputs) {
      if (finish === null || this.#runs.get(run)?.isForked === true) continue;
      this.#endRun(run)?.resolve("finished");
    }
  }

  #receiveDone(call: number, problem: string | null): void {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (problem === null) waiting?.resolve();
    else waiting?.reject(failed(problem));
  }

  #endRun(run: number): Waiting<RunEnd> | undefined {
    const waiting = this.#runs.get(run);
    this.#runs.delete(run);
    return waiting;
  }

  #hasWork(): boolean {
    return this.#loading !== undefined || this.#runs.size > 0 || this.#calls.size > 0;
  }

  #checkSilence(): void {
    if (!this.#hasWork()) return;
    const { clock, loadMs, silentMs } = this.#options;
    const limit = this.#loading === undefined ? silentMs : loadMs;
    if (clock.nowMs() - this.#lastSignMs < limit) return;
    this.#lose(`the engine process said nothing for ${limit} ms and was killed`);
    this.#child.kill();
  }

  #lose(why: string): void {
    this.#fail(new ServingError("engine_lost", { problem: why }));
  }

  #fail(error: ServingError): void {
    if (this.#lost !== undefined) return;
    this.#end(error);
    this.#child.kill();
    this.#events.onLost(error);
  }

  #end(error: ServingError): void {
    this.#lost ??= error;
    this.#watch.cancel();
    for (const waiting of [...this.#runs.values(), ...this.#calls.values()]) waiting.reject(error);
    this.#loading?.reject(error);
    this.#runs.clear();
    this.#calls.clear();
    this.#loading = undefined;
  }
}

function failed(problem: string): ServingError {
  return new ServingError("engine_failed", { problem });
}
