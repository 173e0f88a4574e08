import type { Random } from "@baton/runtime";
import type { ActorSpec, Cluster } from "../processes/index.ts";

/** What decides whether another worker is killed. */
export interface KillerOptions {
  /** Workers of one kind, of which one at a time is killed. */
  readonly workers: readonly ActorSpec[];
  /** Whether one more is wanted. */
  readonly wants: () => boolean;
  /** Whether enough requests are on a worker. */
  readonly isBusy: (workerId: string) => boolean;
  readonly random: Random;
  readonly onKill?: (workerId: string) => void;
}

/** Kills busy workers of one kind, one at a time, and starts each again, until it is stopped. */
export class WorkerKiller {
  kills = 0;
  /** Whether one that was killed is not back yet. */
  isRestarting = false;
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
    const { isBusy, onKill, random, wants, workers } = this.#options;
    while (!this.#isStopped) {
      const busy = wants() ? workers.filter(({ id }) => isBusy(id)) : [];
      const spec = busy[random.u32() % busy.length];
      if (spec === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      onKill?.(spec.id);
      this.isRestarting = true;
      await this.#cluster.end(spec.id, "SIGKILL");
      this.kills += 1;
      await this.#cluster.start(spec);
      this.isRestarting = false;
    }
  }
}
