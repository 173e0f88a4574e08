import { decodeRouter } from "@baton/decode-router";
import { discovery } from "@baton/discovery";
import { kvEventAggregator } from "@baton/kv-event-aggregator";
import { prefillRouter } from "@baton/prefill-router";
import { actorId, modelName, type NamespaceName, namespaceName } from "@baton/protocol";
import {
  type ActorDefinition,
  MemoryNetwork,
  ProcessClock,
  type RunningActor,
  readOptions,
  SeededRandom,
  silentLogger,
  startActor,
  VirtualClock,
} from "@baton/runtime";
import { createWorker, type EngineFactory } from "@baton/worker";
import { tokenizerFolder } from "./expected-output.ts";
import type { PlannedActor, SimulationPlan } from "./plan.ts";
import { SimEngine } from "./sim-engine.ts";
import { SimMetrics } from "./sim-metrics.ts";
import { type PullTrouble, SimMover, SimTransfers } from "./sim-mover.ts";
import { frontendWithPort, type SimOrgans, type SimProcess } from "./sim-process.ts";

/** The model of every run. */
export const simModel = modelName("sim/model");
/** Tokens a KV block. */
export const simBlockSize = 16;
/** How long staged KV waits: longer than a request may take to come for it. */
export const simLeaseMs = 4_000;
/** Every deadline of a request, in its states together, is below this. */
export const requestBoundMs = 20_000;

/** A connection whose pings are not answered is given up after this time, as over NATS. */
const pingsUnansweredMs = 2_500;
/** How long a Frontend whose bus is gone lets its requests wait. */
export const busGraceMs = 2_000;
/** How long a Frontend waits for a router's first word. */
export const routerNoticeMs = 800;

const log = silentLogger();
const aggregatorFlags = { "recovery-timeout-ms": 500, "lost-hold-ms": 800 };
const deadlineFlags = {
  "preparing-ms": 2_000,
  "prefill-queued-ms": 2_500,
  "prefill-running-ms": 2_500,
  "decode-routing-ms": 2_500,
  "handoff-ms": 2_500,
  "decode-queued-ms": 2_500,
  "decode-running-ms": 2_500,
  "token-gap-ms": 2_000,
  "router-notice-ms": routerNoticeMs,
  "bus-grace-ms": busGraceMs,
  "artifact-timeout-ms": 500,
  "frames-timeout-ms": 500,
};

/** All actors of a run, on one clock and one network. */
export class SimCluster {
  readonly clock = new VirtualClock();
  readonly network: MemoryNetwork;
  readonly namespace: NamespaceName = namespaceName("simulation");
  /** Every life that was begun, dead ones included. */
  readonly processes: SimProcess[] = [];
  /** Whose messages were on their way for long before the bus had them. */
  readonly lateSenders = new Set<string>();
  readonly #plan: SimulationPlan;
  readonly #engine: EngineFactory;
  readonly #random: SeededRandom;
  readonly transfers = new SimTransfers();
  readonly #current = new Map<string, SimProcess>();
  readonly #generations = new Map<string, number>();
  readonly #connecting: (() => void)[] = [];
  #isServerUp = true;

  constructor(plan: SimulationPlan, engine: EngineFactory) {
    this.#plan = plan;
    this.#engine = engine;
    this.#random = new SeededRandom(`cluster-${plan.seed}`);
    const { maxDelayMs, maxPayloadBytes, maxPendingMessages, minDelayMs } = plan.shape;
    this.network = new MemoryNetwork({
      clock: this.clock,
      random: this.#random.fork("network"),
      minDelayMs,
      maxDelayMs,
      maxPayloadBytes,
      maxPendingMessages,
    });
  }

  /** The process that stands for an id; undefined if it was never started. */
  process(id: string): SimProcess | undefined {
    return this.#current.get(id);
  }

  /** The processes that stand for their ids and have not ended. */
  living(): SimProcess[] {
    return [...this.#current.values()].filter(
      ({ phase }) => phase === "running" || phase === "paused",
    );
  }

  start(planned: PlannedActor): void {
    const clock = new ProcessClock(this.clock);
    const metrics = new SimMetrics();
    const organs: SimOrgans = { isDead: false, port: null, engine: null, mover: null };
    const life = this.processes.filter(({ id }) => id === planned.id).length;
    const actor = this.#startActor(planned, { clock, metrics, organs, life });
    const process: SimProcess = {
      id: planned.id,
      role: planned.role,
      planned,
      actor,
      clock,
      metrics,
      organs,
      phase: "running",
      isConnected: true,
      cuts: 0,
      isWayCut: false,
      diedAtMs: null,
    };
    this.#generations.set(planned.id, actor.generation);
    this.#current.set(planned.id, process);
    this.processes.push(process);
    void actor.done.then(() => {
      if (process.phase !== "dead") process.phase = "left";
    });
  }

  kill(id: string): void {
    const process = this.#living(id);
    if (process === undefined) return;
    process.phase = "dead";
    process.organs.isDead = true;
    process.diedAtMs = this.clock.nowMs();
    this.network.kill(actorId(id));
    process.clock.kill();
    process.organs.mover?.die();
  }

  drain(id: string): void {
    const process = this.#living(id);
    if (process === undefined) return;
    // A signal reaches a stopped process when it goes on.
    process.clock.setTimer(0, () => void process.actor.drain());
  }

  pause(id: string): void {
    const process = this.#living(id);
    if (process?.phase !== "running") return;
    process.phase = "paused";
    this.network.pause(actorId(id));
  }

  resume(id: string): void {
    const process = this.#living(id);
    if (process?.phase !== "paused") return;
    process.phase = "running";
    this.network.resume(actorId(id));
  }

  loseEngine(id: string, backAfterMs: number): void {
    const process = this.#living(id);
    // The child dies at once; its worker hears of it when it runs.
    process?.clock.setTimer(0, () => process.organs.engine?.lose(backAfterMs));
  }

  /** The engine fails at all that it begins from here on. */
  failEngine(id: string): void {
    this.#living(id)?.organs.engine?.beginToFail();
  }

  mendEngine(id: string): void {
    this.#living(id)?.organs.engine?.stopFailing();
  }

  /** What happens to pulls of a worker and from it. */
  troublePulls(id: string, trouble: PullTrouble | null): void {
    const mover = this.#living(id)?.organs.mover;
    if (mover !== undefined && mover !== null) mover.trouble = trouble;
  }

  /** A way fails under a connection that seems to stand, until its pings tell. */
  cutWay(id: string, way: "in" | "out" | "both"): void {
    const process = this.#living(id);
    if (process === undefined || !process.isConnected) return;
    process.isWayCut = true;
    process.cuts += 1;
    const { cuts } = process;
    if (way !== "out") this.network.holdBack(actorId(id), "in");
    if (way !== "in") {
      this.network.holdBack(actorId(id), "out");
      this.lateSenders.add(id);
    }
    this.clock.setTimer(pingsUnansweredMs, () => {
      const isSame = this.#living(id) === process && process.cuts === cuts;
      if (isSame && process.isWayCut) this.disconnect(id);
    });
  }

  healWay(id: string): void {
    const process = this.#living(id);
    if (process === undefined || !process.isWayCut) return;
    process.isWayCut = false;
    this.network.letThrough(actorId(id));
    this.reconnect(id);
  }

  lose(id: string, share: number): void {
    this.network.lose(actorId(id), share);
  }

  disconnect(id: string): void {
    const process = this.#living(id);
    if (process === undefined) return;
    process.isConnected = false;
    this.network.disconnect(actorId(id));
  }

  reconnect(id: string): void {
    const process = this.#living(id);
    if (process === undefined || process.isConnected || !this.#isServerUp) return;
    process.isConnected = true;
    this.network.reconnect(actorId(id));
  }

  /** Cuts everybody off. Who starts meanwhile connects when the server is back. */
  stopServer(): void {
    this.#isServerUp = false;
    for (const { id } of this.living()) this.disconnect(id);
  }

  startServer(): void {
    this.#isServerUp = true;
    for (const connect of this.#connecting.splice(0)) connect();
    for (const { id } of this.living()) this.reconnect(id);
  }

  /** Ends every fault that can end: what stands still goes on, what is cut off comes back. */
  heal(): void {
    this.startServer();
    for (const { id } of this.#plan.actors) this.lose(id, 0);
    for (const { id } of this.living()) {
      this.resume(id);
      this.healWay(id);
      this.reconnect(id);
      this.mendEngine(id);
      this.troublePulls(id, null);
    }
  }

  /** Starts what has died or left. */
  restart(id: string): void {
    const process = this.#current.get(id);
    if (process?.phase === "dead" || process?.phase === "left") this.start(process.planned);
  }

  #whenServerRuns(): Promise<void> {
    if (this.#isServerUp) return Promise.resolve();
    return new Promise((resolve) => this.#connecting.push(resolve));
  }

  #living(id: string): SimProcess | undefined {
    const process = this.#current.get(id);
    return process?.phase === "running" || process?.phase === "paused" ? process : undefined;
  }

  #startActor(planned: PlannedActor, parts: LifeParts): RunningActor {
    switch (planned.role) {
      case "frontend":
        return this.#run(frontendWithPort(parts.organs), planned, parts, deadlineFlags);
      case "discovery":
        return this.#run(discovery, planned, parts, {});
      case "prefill-router":
        return this.#run(prefillRouter, planned, parts, this.#routerFlags());
      case "decode-router":
        return this.#run(decodeRouter, planned, parts, this.#routerFlags());
      case "kv-event-aggregator":
        return this.#run(kvEventAggregator, planned, parts, aggregatorFlags);
      case "worker":
        return this.#run(this.#worker(parts), planned, parts, this.#workerFlags(planned));
    }
  }

  #run<Config>(
    definition: ActorDefinition<Config>,
    { id }: PlannedActor,
    { clock, life, metrics, organs }: LifeParts,
    flags: Readonly<Record<string, unknown>>,
  ): RunningActor {
    const lastGeneration = this.#generations.get(id);
    return startActor(definition, {
      id,
      namespace: this.namespace,
      config: readOptions(definition.options, { flags, env: {} }),
      connect: async (options) => {
        await this.#whenServerRuns();
        if (organs.isDead) return await new Promise<never>(() => undefined);
        return this.network.connect({ ...options, process: clock });
      },
      clock,
      random: this.#random.fork(`${id}/${life}`),
      log,
      metrics,
      identity: { host: "sim-host", pid: 1, admin: null },
      drainTimeoutMs: 3_000,
      ...(lastGeneration === undefined ? {} : { lastGeneration }),
    });
  }

  #worker({ clock, organs }: LifeParts) {
    return createWorker({
      engines: {
        mock: () =>
          Promise.resolve(async (config, deps) => {
            const engine = await SimEngine.create(this.#engine, config, deps);
            organs.engine = engine;
            return engine;
          }),
      },
      createMover: (_, deps) => {
        const mover = new SimMover(this.transfers, clock, deps);
        organs.mover = mover;
        return mover;
      },
    });
  }

  #routerFlags(): Readonly<Record<string, unknown>> {
    const { predictsOnRoute, routerMode, sessionTtlSecs } = this.#plan.shape;
    return {
      "router-mode": routerMode,
      ...(sessionTtlSecs === null ? {} : { "session-affinity-ttl-secs": sessionTtlSecs }),
      ...(predictsOnRoute ? { "predicted-ttl-secs": 2 } : {}),
    };
  }

  #workerFlags({ rack, workerType }: PlannedActor): Readonly<Record<string, unknown>> {
    const { shape } = this.#plan;
    return {
      "worker-type": workerType,
      "model-name": simModel,
      model: tokenizerFolder,
      "decode-only": shape.isDecodeOnly,
      ...(rack === null ? {} : { topology: [`rack=${rack}`] }),
      ...(rack === null || workerType !== "prefill" ? {} : { "kv-transfer-domain": "rack" }),
      "handoff-lease-ms": simLeaseMs,
      "context-length": 600,
      blocks: shape.blocks,
      "block-size": simBlockSize,
      "max-num-seqs": shape.maxSequences,
      "max-batched-tokens": 128,
      "mock-prefill-ms": shape.prefillMs,
      "mock-decode-ms": shape.decodeMs,
      "transfer-gbps": shape.transferGbps,
    };
  }
}

interface LifeParts {
  readonly clock: ProcessClock;
  readonly metrics: SimMetrics;
  readonly organs: SimOrgans;
  /** How often the id was started before. */
  readonly life: number;
}
