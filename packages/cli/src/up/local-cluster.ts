import type { NamespaceName } from "@baton/protocol";
import {
  type AdminServer,
  type BusFactory,
  type Clock,
  type MetricsRegistry,
  type Random,
  type RunningActor,
  readOptions,
  startActor,
} from "@baton/runtime";
import type { Logger } from "pino";
import { loadDefinitions } from "../definitions.ts";
import type { Cluster } from "./cluster.ts";
import type { PlannedActor } from "./plan.ts";

/** What actors of this process share. */
export interface LocalDeps {
  readonly namespace: NamespaceName;
  readonly connect: BusFactory;
  readonly clock: Clock;
  /** The randomness of one actor. */
  readonly randomFor: (id: string) => Random;
  readonly log: Logger;
  readonly registry: MetricsRegistry;
  readonly admin: AdminServer;
  readonly host: string;
  readonly pid: number;
  readonly drainTimeoutMs: number;
}

interface Running {
  readonly planned: PlannedActor;
  readonly actor: RunningActor;
}

/** Starts every planned actor in this process, each with a bus of its own. Throws `config_invalid` before any starts. */
export async function startLocalCluster(
  plan: readonly PlannedActor[],
  deps: LocalDeps,
): Promise<Cluster> {
  const definitions = await loadDefinitions();
  const configs = plan.map(({ role, flags }) =>
    readOptions(definitions[role].options, { flags, env: {} }),
  );
  const running = plan.map((planned, index) => ({
    planned,
    actor: startActor(definitions[planned.role], {
      id: planned.id,
      namespace: deps.namespace,
      config: configs[index],
      connect: deps.connect,
      clock: deps.clock,
      random: deps.randomFor(planned.id),
      log: deps.log,
      metrics: (id) => deps.registry.forActor(planned.role, id),
      identity: { host: deps.host, pid: deps.pid, admin: deps.admin.url },
      drainTimeoutMs: deps.drainTimeoutMs,
    }),
  }));
  for (const { actor } of running) deps.admin.add(actor);
  return new LocalCluster(running, deps.registry);
}

class LocalCluster implements Cluster {
  readonly #running: readonly Running[];
  readonly #registry: MetricsRegistry;
  #isEnding = false;

  constructor(running: readonly Running[], registry: MetricsRegistry) {
    this.#running = running;
    this.#registry = registry;
  }

  metrics(): Promise<string> {
    return this.#registry.text();
  }

  onEnded(listener: (actor: PlannedActor, how: string) => void): void {
    for (const { planned, actor } of this.#running) {
      void actor.done.then(({ failure }) => {
        if (!this.#isEnding)
          listener(planned, failure === null ? "has stopped" : `failed: ${failure.message}`);
      });
    }
  }

  async drain(): Promise<void> {
    this.#isEnding = true;
    await this.#each(
      (role) => role === "frontend",
      (actor) => actor.drain(),
    );
    await this.#each(
      (role) => role !== "frontend",
      (actor) => actor.drain(),
    );
  }

  async kill(): Promise<void> {
    this.#isEnding = true;
    await this.#each(
      () => true,
      (actor) => actor.kill(),
    );
  }

  async #each(
    which: (role: string) => boolean,
    end: (actor: RunningActor) => Promise<void>,
  ): Promise<void> {
    await Promise.all(
      this.#running.filter(({ planned }) => which(planned.role)).map(({ actor }) => end(actor)),
    );
  }
}
