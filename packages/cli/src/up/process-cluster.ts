import type { ActorHeartbeat } from "@baton/protocol";
import { mergeMetricsText, readOptions } from "@baton/runtime";
import { loadDefinitions } from "../definitions.ts";
import { type ActorProcess, startActorProcess } from "./actor-process.ts";
import type { Cluster } from "./cluster.ts";
import type { PlannedActor } from "./plan.ts";

/** What the processes are given. */
export interface ProcessDeps {
  /** Flags that every actor's command gets. */
  readonly common: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Everybody's last heartbeat: it says where the admin ports are. */
  readonly heartbeats: () => readonly ActorHeartbeat[];
  /** Figures of this process itself. */
  readonly ownMetrics: () => Promise<string>;
}

/** Starts every planned actor as a process. Throws `config_invalid` before any starts. */
export async function startProcessCluster(
  plan: readonly PlannedActor[],
  deps: ProcessDeps,
): Promise<Cluster> {
  const definitions = await loadDefinitions();
  for (const { role, flags } of plan) readOptions(definitions[role].options, { flags, env: {} });
  return new ProcessCluster(
    plan.map((actor) => startActorProcess(actor, deps.common, deps.env)),
    deps,
  );
}

const metricsTimeoutMs = 2_000;

class ProcessCluster implements Cluster {
  readonly #processes: readonly ActorProcess[];
  readonly #deps: ProcessDeps;
  #isEnding = false;

  constructor(processes: readonly ActorProcess[], deps: ProcessDeps) {
    this.#processes = processes;
    this.#deps = deps;
  }

  /** An actor that does not answer is left out: its figures are gone with it. */
  async metrics(): Promise<string> {
    const ids = new Set(this.#processes.map(({ actor }) => actor.id));
    const addresses = this.#deps
      .heartbeats()
      .flatMap(({ id, admin, state }) =>
        admin !== null && ids.has(id) && state !== "stopped" && state !== "lost" ? [admin] : [],
      );
    const texts = await Promise.all(addresses.map(fetchMetrics));
    return mergeMetricsText([await this.#deps.ownMetrics(), ...texts]);
  }

  onEnded(listener: (actor: PlannedActor, how: string) => void): void {
    for (const { actor, ended } of this.#processes) {
      void ended.then((how) => {
        if (!this.#isEnding) listener(actor, how);
      });
    }
  }

  async drain(): Promise<void> {
    this.#isEnding = true;
    await this.#end(
      (role) => role === "frontend",
      (process) => process.drain(),
    );
    await this.#end(
      (role) => role !== "frontend",
      (process) => process.drain(),
    );
  }

  async kill(): Promise<void> {
    this.#isEnding = true;
    await this.#end(
      () => true,
      (process) => process.kill(),
    );
  }

  async #end(
    which: (role: string) => boolean,
    end: (process: ActorProcess) => void,
  ): Promise<void> {
    const processes = this.#processes.filter(({ actor }) => which(actor.role));
    for (const process of processes) end(process);
    await Promise.all(processes.map(({ ended }) => ended));
  }
}

async function fetchMetrics(admin: string): Promise<string> {
  try {
    const answer = await fetch(`${admin}/metrics`, {
      signal: AbortSignal.timeout(metricsTimeoutMs),
    });
    return answer.ok ? await answer.text() : "";
  } catch {
    // It is gone or going; the others' figures still count.
    return "";
  }
}
