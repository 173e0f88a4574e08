import type { AdminServer } from "@baton/runtime";
import type { ClusterMonitor } from "../bus-tools/cluster-monitor.ts";
import type { CommandIo } from "../command-io.ts";
import type { BusChoice } from "./bus-choice.ts";
import type { Cluster } from "./cluster.ts";
import type { EngineChoice } from "./engine-choice.ts";
import type { PlannedActor } from "./plan.ts";
import { missingFor } from "./progress.ts";

/** A cluster that was started, with what is said about it. */
export interface StartedCluster {
  readonly plan: readonly PlannedActor[];
  readonly model: string;
  readonly choice: EngineChoice;
  readonly counts: {
    readonly prefill: number;
    readonly decode: number;
    readonly aggregated: number;
  };
  readonly bus: BusChoice;
  readonly cluster: Cluster;
  readonly monitor: ClusterMonitor;
  readonly admin: AdminServer;
}

const lookEveryMs = 50;
const sayEveryMs = 5_000;
const readinessTimeoutMs = 1_000;
const secondSignalCode = 130;

/** Says when a completion can be served, then waits for a signal and drains. Returns the exit code. */
export async function runUntilSignal(started: StartedCluster, io: CommandIo): Promise<number> {
  const { cluster } = started;
  const ended = new Promise<number>((resolve) => {
    let isEnding = false;
    io.onSignal((signal) => {
      if (isEnding) {
        void cluster.kill().finally(() => io.exit(secondSignalCode));
        return;
      }
      isEnding = true;
      io.err(`${signal}: draining; once more to end at once\n`);
      void cluster.drain().then(() => resolve(0));
    });
  });
  const broken = new Promise<number>((resolve) => {
    cluster.onEnded(({ role, id }, how) => {
      io.err(`${role} ${id} ${how}\n`);
      if (!watch.isReady) resolve(1);
    });
    // It had a port of its own that no other will listen on.
    void started.bus.ended.then((how) => {
      io.err(`nats-server ${how}, and nothing can be served without it\n`);
      resolve(1);
    });
  });
  const watch = new ReadyWatch(started, io);
  void watch.run();
  const code = await Promise.race([ended, broken]);
  watch.stop();
  if (code !== 0) await cluster.kill();
  return code;
}

/** Looks until nothing is missing, says every few seconds what is, and in the end prints the one line. */
class ReadyWatch {
  isReady = false;
  readonly #started: StartedCluster;
  readonly #io: CommandIo;
  #isStopped = false;

  constructor(started: StartedCluster, io: CommandIo) {
    this.#started = started;
    this.#io = io;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    const { clock } = this.#io;
    let saidAtMs = clock.nowMs();
    while (!this.#isStopped) {
      const missing = await this.#missing();
      if (missing.length === 0) break;
      if (clock.nowMs() - saidAtMs >= sayEveryMs) {
        saidAtMs = clock.nowMs();
        this.#io.err(`waiting for ${missing.join(", ")}\n`);
      }
      await clock.sleep(lookEveryMs);
    }
    if (this.#isStopped) return;
    this.isReady = true;
    this.#io.out(`${this.#line()}\n`);
  }

  async #missing(): Promise<readonly string[]> {
    const { plan, model, monitor } = this.#started;
    const status = monitor.status();
    const missing = missingFor(plan, model, status, null);
    if (missing.length > 0) return missing;
    return missingFor(plan, model, status, await whyUnready(this.#api(), model));
  }

  #api(): string | null {
    const { plan, monitor } = this.#started;
    const id = plan.find(({ role }) => role === "frontend")?.id;
    return monitor.heartbeats().find((heartbeat) => heartbeat.id === id)?.api ?? null;
  }

  #line(): string {
    const { model, choice, bus, counts, admin } = this.#started;
    return [
      `ready ${this.#api()}`,
      `model=${encodeURIComponent(model)}`,
      `engine=${choice.engine}`,
      `bus=${bus.label}`,
      `prefill=${counts.prefill}`,
      `decode=${counts.decode}`,
      `aggregated=${counts.aggregated}`,
      `admin=${admin.url}`,
    ].join(" ");
  }
}

/** Why the Frontend would not serve a model at once; null if it would. */
async function whyUnready(api: string | null, model: string): Promise<string | null> {
  if (api === null) return "it has no address yet";
  try {
    const answer = await fetch(`${api}/v1/models/${encodeURIComponent(model)}/ready`, {
      signal: AbortSignal.timeout(readinessTimeoutMs),
    });
    if (answer.ok) return null;
    const { error } = (await answer.json()) as { readonly error?: { readonly message?: string } };
    return error?.message ?? `status ${answer.status}`;
  } catch {
    // Not listening yet: the next look asks again.
    return "it does not listen yet";
  }
}
