import { type ModelName, ServingError, type WorkerVerb } from "@baton/protocol";
import {
  type ActorContext,
  type ActorDefinition,
  type ActorInstance,
  type BusListener,
  type BusMessage,
  type HeartbeatFacts,
  type Timer,
  xstateClock,
} from "@baton/runtime";
import { type Actor, createActor } from "xstate";
import { modelNameOf, type WorkerConfig, workerOptions } from "./config.ts";
import { createState } from "./create-state.ts";
import type { Engine } from "./engine.ts";
import { EngineListener } from "./engine-listener.ts";
import { loseEngine } from "./engine-loss.ts";
import { builtInEngines, createEngine, type EngineRegistry } from "./engine-registry.ts";
import {
  handleAbort,
  handleDecode,
  handleExtend,
  handleGenerate,
  handleGetArtifact,
  handleGetFrames,
  handleGetKvEvents,
  handlePrefill,
  handleRelease,
} from "./handlers.ts";
import { goOnAfter } from "./later-start.ts";
import { type WorkerEvent, workerMachine } from "./machine.ts";
import { type MoverFactory, tcpMover } from "./mover.ts";
import { Registrar } from "./registrar.ts";
import { makeRegistration, readArtifact, setOf } from "./registration.ts";
import { failAndDrop } from "./request-end.ts";
import { startReminders } from "./stage-kv.ts";
import type { WorkerState } from "./state.ts";

/** What a worker is put together from. */
export interface WorkerParts {
  /** Engines by name, each loaded when asked for. */
  readonly engines: EngineRegistry;
  /** Makes the mover of KV. */
  readonly createMover: MoverFactory;
}

/** Defines a worker from its parts: tests and simulations bring their own movers and engines. */
export function createWorker(parts: WorkerParts): ActorDefinition<WorkerConfig> {
  return {
    role: "worker",
    options: workerOptions,
    create: (context, config) => new Worker(parts, context, config),
  };
}

/** The worker of a production process. */
export const worker: ActorDefinition<WorkerConfig> = createWorker({
  engines: builtInEngines,
  createMover: tcpMover,
});

type Handler = (state: WorkerState, message: BusMessage) => void;

class Worker implements ActorInstance {
  readonly #parts: WorkerParts;
  readonly #context: ActorContext;
  readonly #config: WorkerConfig;
  readonly #model: ModelName;
  readonly #listener: EngineListener;
  readonly #subscriptions: BusListener[] = [];
  #engine: Engine | null = null;
  #state: WorkerState | null = null;
  #registrar: Registrar | null = null;
  #reminders: Timer | null = null;
  #machine: Actor<typeof workerMachine> | null = null;
  #isStopped = false;

  constructor(parts: WorkerParts, context: ActorContext, config: WorkerConfig) {
    this.#parts = parts;
    this.#context = context;
    this.#config = config;
    this.#model = modelNameOf(config);
    this.#listener = new EngineListener({
      lost: (error) => this.#engineLost(error),
      restored: () => this.#send({ type: "engine.restored" }),
    });
  }

  async start(): Promise<void> {
    const { clock, random, log } = this.#context;
    this.#context.setSynced(false, "the engine is starting");
    const engine = await createEngine(this.#parts.engines, this.#config, { clock, random, log });
    this.#engine = engine;
    const card = await engine.start(this.#listener);
    const { createMover } = this.#parts;
    const state = createState({
      context: this.#context,
      config: this.#config,
      engine,
      card,
      createMover,
    });
    this.#state = state;
    await state.mover.listen();
    if (this.#isStopped) {
      await this.#letGo();
      return;
    }
    this.#listener.attach(state);
    this.#serve(state);
  }

  heartbeat(): HeartbeatFacts {
    return {
      model: this.#model,
      generation: this.#state?.generation ?? this.#context.generation,
      workerType: this.#config.workerType,
      set: setOf(this.#config),
      kvBatches: this.#state?.kvEvents.newest() ?? [],
    };
  }

  async drain(): Promise<void> {
    this.#send({ type: "drain.requested" });
    await this.#state?.requests.whenEmpty();
  }

  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#send({ type: "drain.requested" });
    const state = this.#state;
    if (state !== null) {
      const error = new ServingError("draining", { workerId: this.#context.id });
      for (const record of state.requests.all()) failAndDrop(state, record, error);
    }
    this.#machine?.stop();
    await this.#letGo();
  }

  /** Listens, and begins to be listed. */
  #serve(state: WorkerState): void {
    const { bus, heartbeatMs } = this.#context;
    const artifact = readArtifact(state.card.tokenizer);
    this.#subscribe(state, artifact.checksum);
    this.#subscriptions.push(
      bus.onState((busState) => {
        if (busState !== "connected") return;
        state.facts.resend();
        state.kvEvents.repeatNewest();
        state.load.beat();
      }),
    );
    state.frontends.start();
    state.load.start(heartbeatMs);
    this.#reminders = startReminders(state);
    const registrar = new Registrar({
      context: this.#context,
      publisher: state.publisher,
      registration: () =>
        makeRegistration({
          context: this.#context,
          config: this.#config,
          model: state.model,
          card: state.card,
          artifact,
          generation: state.generation,
        }),
      listener: {
        onAccepted: () => this.#send({ type: "registration.accepted" }),
        onRefused: (why) => this.#send({ type: "registration.refused", why }),
        onOutlived: (generation) => this.#send({ type: "registration.outlived", generation }),
        onFailed: () => this.#send({ type: "registration.failed" }),
        onOutdated: () => this.#send({ type: "registration.outdated" }),
      },
    });
    this.#registrar = registrar;
    registrar.watch();
    this.#machine = this.#createMachine(state, registrar);
    this.#machine.start();
  }

  #createMachine(state: WorkerState, registrar: Registrar): Actor<typeof workerMachine> {
    const { clock, random, setSynced } = this.#context;
    const machine = workerMachine.provide({
      actions: {
        ask: () => registrar.ask(),
        open: () => {
          state.intake = "open";
          setSynced(true);
          state.load.changed();
        },
        showWaiting: () => setSynced(false, "Discovery has not listed this worker yet"),
        showRefusal: (_, { why }) => {
          state.intake = "closed";
          setSynced(false, why);
          state.load.changed();
        },
        goOnAfter: (_, { generation }) => goOnAfter(state, generation),
        loseEngine: (_, { error }) => {
          state.intake = "engine-lost";
          setSynced(false, `the engine is lost: ${error.message}`);
          loseEngine(state, error);
        },
        restoreEngine: () => {
          state.intake = "closed";
          state.engineError = null;
        },
        leave: () => {
          state.intake = "draining";
          registrar.leave();
          state.load.beat();
        },
      },
    });
    const actor = createActor(machine, {
      input: { spread: random.number() },
      clock: xstateClock(clock),
    });
    return actor;
  }

  /** Every subject of this worker. Work is listened for by type, so that what is sent to the wrong one finds nobody. */
  #subscribe(state: WorkerState, checksum: string): void {
    const { bus, subjects, id } = this.#context;
    const getArtifact: Handler = (_, message) => handleGetArtifact(state, checksum, message);
    const handlers: readonly (readonly [WorkerVerb, Handler])[] = [
      ...workHandlers[this.#config.workerType],
      ["release", handleRelease],
      ["extend", handleExtend],
      ["abort", handleAbort],
      ["get-frames", handleGetFrames],
      ["get-kv-events", handleGetKvEvents],
      ["get-artifact", getArtifact],
    ];
    for (const [verb, handle] of handlers) {
      const subject = subjects.worker(verb, state.model, id);
      this.#subscriptions.push(bus.subscribe(subject, (message) => handle(state, message)));
    }
    const everywhere = subjects.abortAnywhere(state.model);
    this.#subscriptions.push(bus.subscribe(everywhere, (message) => handleAbort(state, message)));
  }

  #send(event: WorkerEvent): void {
    this.#machine?.send(event);
  }

  #engineLost(error: ServingError): void {
    if (this.#machine === null) this.#context.fail(error);
    else this.#send({ type: "engine.lost", error });
  }

  async #letGo(): Promise<void> {
    for (const subscription of this.#subscriptions.splice(0)) subscription.unsubscribe();
    this.#registrar?.stop();
    const state = this.#state;
    state?.frontends.stop();
    state?.frames.flushAll();
    state?.kvEvents.flush();
    state?.load.stop();
    this.#reminders?.cancel();
    state?.ledger.close();
    await state?.mover.close();
    await this.#engine?.stop();
  }
}

const workHandlers: Readonly<
  Record<WorkerConfig["workerType"], readonly (readonly [WorkerVerb, Handler])[]>
> = {
  prefill: [["prefill", handlePrefill]],
  decode: [
    ["decode", handleDecode],
    ["generate", handleGenerate],
  ],
  aggregated: [["generate", handleGenerate]],
};
