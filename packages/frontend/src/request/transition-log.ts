/** Hot path: about eight times a request. Budget 1 µs a transition. */
import { type ModelName, type RequestTransition, RequestTransitions } from "@baton/protocol";
import type { Bus, Clock, Counter, Timer } from "@baton/runtime";
import type { Logger } from "pino";

/** What the log is given. */
export interface TransitionLogDeps {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
  /** Counts what was never published. */
  readonly dropped: Counter;
  readonly subject: (model: ModelName) => string;
}

/** Bounds of the log. */
export interface TransitionLogOptions {
  /** How long the first transition of a batch may wait, ms. */
  readonly batchMs: number;
  /** Most transitions that wait for one model; more are dropped and counted. */
  readonly batchMax: number;
}

/** Publishes what requests go through, batched by model. It delays no request, and under pressure it drops. */
export class TransitionLog {
  readonly #options: TransitionLogOptions;
  readonly #deps: TransitionLogDeps;
  readonly #batches = new Map<ModelName, RequestTransition[]>();
  #timer: Timer | null = null;

  constructor(options: TransitionLogOptions, deps: TransitionLogDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Takes one transition. */
  add(model: ModelName, transition: RequestTransition): void {
    const batch = this.#batches.get(model);
    if (batch === undefined) this.#batches.set(model, [transition]);
    else if (batch.length < this.#options.batchMax) batch.push(transition);
    else this.#deps.dropped.add();
    this.#timer ??= this.#deps.clock.setTimer(this.#options.batchMs, () => this.flush());
  }

  /** Publishes what waits. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    for (const [model, transitions] of this.#batches) this.#publish(model, transitions);
    this.#batches.clear();
  }

  #publish(model: ModelName, transitions: readonly RequestTransition[]): void {
    const { bus, dropped, log, subject } = this.#deps;
    if (bus.state !== "connected") {
      dropped.add(transitions.length);
      return;
    }
    try {
      bus.publish(subject(model), RequestTransitions.encode({ transitions }));
    } catch (error) {
      // A request must not suffer from who watches it.
      dropped.add(transitions.length);
      log.debug({ err: error, transitions: transitions.length }, "transitions dropped");
    }
  }
}
