import { ServingError } from "@baton/protocol";

/** How many asks run and wait at once. */
export interface AskQueueOptions {
  readonly concurrency: number;
  readonly maxWaiting: number;
}

/** Runs tasks in the order in which they come, so many at a time: a restart asks every worker for a dump at once. */
export class AskQueue {
  readonly #options: AskQueueOptions;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: AskQueueOptions) {
    this.#options = options;
  }

  /** Tasks that run or wait. */
  get size(): number {
    return this.#running + this.#waiting.length;
  }

  /** Runs a task when its turn comes. Rejects with what it rejects with, and with `overloaded` if too many wait. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#options.concurrency) await this.#turn();
    else this.#running += 1;
    try {
      return await task();
    } finally {
      // Whoever waits takes over this place, so that nobody can slip in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      throw new ServingError("overloaded", { problem: "too many asks wait" });
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
