import type { Random } from "@baton/runtime";
import type { ActorSpec, Cluster } from "../processes/index.ts";

/** What decides whether another worker is killed. */
export interface KillerOptions {
  /** Workers of one type, of which one at a time is killed. */
  readonly workers: readonly ActorSpec[];
  /** Whether one more is wanted. */
  readonly wants: () => boolean;
  readonly random: Random;
}

/** Kills workers of one type, one at a time, and starts each again, until it is stopped. */
export class WorkerKiller {
  kills = 0;
  readonly #cluster: Cluster;
  readonly #options: KillerOptions;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(cluster: Cluster, options: KillerOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /** Looks every 20 ms. */
  start(): void {
    this.#running = this.#run();
  }

  /** Resolves when the last one that was killed is back. */
  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#running;
  }

  async #run(): Promise<void> {
    const { random, wants, workers } = this.#options;
    while (!this.#isStopped) {
      const spec = workers[random.u32() % workers.length];
      if (spec === undefined || !wants()) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      await this.#cluster.end(spec.id, "SIGKILL");
      this.kills += 1;
      await this.#cluster.start(spec);
    }
  }
}
