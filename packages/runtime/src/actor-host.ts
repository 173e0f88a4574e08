import {
  ActorHeartbeat,
  type ActorId,
  type ActorRole,
  type ModelName,
  ProbeReply,
  ServingError,
} from "@baton/protocol";
import { type ActorRefFrom, createActor } from "xstate";
import type { ActorContext, ActorInstance, HeartbeatFacts } from "./actor.ts";
import { ActorMetrics } from "./actor-metrics.ts";
import type { BusOptions } from "./bus/base-bus.ts";
import type { Bus, BusMessage } from "./bus/bus.ts";
import type { Timer } from "./clock.ts";
import {
  type LifecycleEvent,
  type LifecycleState,
  lifecycleMachine,
  whyNotReady,
} from "./lifecycle-machine.ts";
import type { ActorExit, RunningActor } from "./running-actor.ts";
import { xstateClock } from "./xstate-clock.ts";

/** What a host needs beside the context that it gives to its actor. */
export interface HostOptions extends Omit<ActorContext, "bus" | "setSynced" | "fail" | "metrics"> {
  readonly metrics: ActorContext["metrics"];
  readonly drainTimeoutMs: number;
  readonly connect: (options: BusOptions, signal: AbortSignal) => Promise<Bus>;
  readonly create: (context: ActorContext) => ActorInstance;
}

interface Waiter {
  readonly state: LifecycleState;
  readonly resolve: () => void;
  readonly reject: (error: ServingError) => void;
}

/** Drives one actor through its lifecycle: bus, start, life signs, drain, end. */
export class ActorHost implements RunningActor {
  readonly id: ActorId;
  readonly role: ActorRole;
  readonly generation: number;
  readonly done: Promise<ActorExit>;
  readonly #options: HostOptions;
  readonly #machine: ActorRefFrom<typeof lifecycleMachine>;
  readonly #abort = new AbortController();
  readonly #waiters = new Set<Waiter>();
  #resolveDone: (exit: ActorExit) => void = () => undefined;
  #bus: Bus | null = null;
  #instance: ActorInstance | null = null;
  #state: LifecycleState = "starting";
  #beats: Timer | null = null;
  #sequence = 0;
  #isKilled = false;

  constructor(options: HostOptions) {
    this.#options = options;
    this.id = options.id;
    this.role = options.role;
    this.generation = options.generation;
    this.done = new Promise((resolve) => {
      this.#resolveDone = resolve;
    });
    this.#machine = createActor(lifecycleMachine, {
      input: { drainTimeoutMs: options.drainTimeoutMs },
      clock: xstateClock(options.clock),
    });
  }

  get state(): LifecycleState {
    return this.#state;
  }

  get why(): string | null {
    return whyNotReady(this.#state, this.#machine.getSnapshot().context);
  }

  /** Connects and starts. Called once. */
  begin(): void {
    this.#machine.subscribe((snapshot) => this.#enter(snapshot.value));
    this.#machine.start();
    this.#send({ type: "actor.created" });
    this.#connect().catch((error: unknown) => this.#fail(error));
  }

  heartbeat(): ActorHeartbeat {
    const { namespace, identity, heartbeatMs } = this.#options;
    const facts = this.#facts();
    return {
      id: this.id,
      role: this.role,
      namespace,
      model: facts.model ?? null,
      generation: facts.generation ?? this.generation,
      sequence: this.#sequence,
      intervalMs: heartbeatMs,
      state: this.#state,
      why: this.why,
      pid: identity.pid,
      host: identity.host,
      admin: identity.admin,
      workerType: facts.workerType ?? null,
      set: facts.set ?? null,
      activation: facts.activation === undefined ? null : [...facts.activation],
      catalog: facts.catalog ?? null,
      ...(facts.kvBatches === undefined ? {} : { kvBatches: [...facts.kvBatches] }),
      api: facts.api ?? null,
    };
  }

  async drain(): Promise<void> {
    this.#send({ type: "drain.requested" });
    await this.done;
  }

  async stop(): Promise<void> {
    this.#send({ type: "stop.requested" });
    await this.done;
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    await this.#bus?.close();
    await this.stop();
  }

  whenState(state: LifecycleState): Promise<void> {
    if (this.#state === state) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.add({ state, resolve, reject });
      this.#tellWaiters();
    });
  }

  async #connect(): Promise<void> {
    const { id, subjects, clock, log, metrics, connect } = this.#options;
    const bus = await connect({ id, subjects, clock, log, metrics }, this.#abort.signal);
    if (this.#state === "stopped") {
      await bus.close();
      return;
    }
    this.#bus = bus;
    bus.onState((state) => this.#onBus(state));
    bus.subscribe(subjects.ping(), (message) => this.#answerPing(message));
    bus.subscribe(subjects.probe(this.role, id), (message) => this.#answerProbe(message));
    const instance = this.#options.create(this.#context(bus));
    this.#instance = instance;
    this.#beats = clock.setRepeating(this.#options.heartbeatMs, () => this.#beat());
    if (bus.state === "connected") this.#send({ type: "bus.connected" });
    await instance.start();
    this.#send({ type: "actor.started" });
  }

  #context(bus: Bus): ActorContext {
    const options = this.#options;
    return {
      id: this.id,
      role: this.role,
      namespace: options.namespace,
      generation: this.generation,
      subjects: options.subjects,
      bus,
      clock: options.clock,
      random: options.random,
      log: options.log,
      metrics: options.metrics,
      identity: options.identity,
      heartbeatMs: options.heartbeatMs,
      setSynced: (synced, why) =>
        this.#send(
          synced ? { type: "view.synced" } : { type: "view.unsynced", why: why ?? "not synced" },
        ),
      fail: (error) => this.#fail(error),
    };
  }

  #onBus(state: Bus["state"]): void {
    if (state === "connected") this.#send({ type: "bus.connected" });
    else if (state === "disconnected") this.#send({ type: "bus.lost" });
    else if (this.#state !== "stopped" && !this.#isKilled) {
      this.#fail(new ServingError("bus_unavailable", { problem: "the bus was closed" }));
    }
  }

  #fail(error: unknown): void {
    if (this.#state === "stopped") return;
    const { code, message } = ServingError.from(error);
    // Of an option that cannot be used a stack says no more.
    const why = code === "config_invalid" ? { code, problem: message } : { err: error };
    this.#options.log.error(why, "actor failed");
    this.#send({ type: "actor.failed", error });
  }

  #enter(state: LifecycleState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#options.log.info({ state, why: this.why }, "actor state");
    this.#guard(() => this.#instance?.onState?.(state));
    this.#beat();
    if (state === "draining") void this.#drainInstance();
    if (state === "stopped") void this.#end();
    this.#tellWaiters();
  }

  async #drainInstance(): Promise<void> {
    try {
      await this.#instance?.drain();
    } catch (error) {
      this.#options.log.error({ err: error }, "drain failed"); // it stops all the same
    }
    this.#send({ type: "actor.drained" });
  }

  async #end(): Promise<void> {
    this.#abort.abort();
    this.#beats?.cancel();
    try {
      await this.#instance?.stop();
    } catch (error) {
      this.#options.log.error({ err: error }, "stop failed"); // it is over all the same
    }
    await (this.#isKilled ? this.#bus?.close() : this.#bus?.drain());
    if (this.#options.metrics instanceof ActorMetrics) this.#options.metrics.drop();
    const failure = this.#machine.getSnapshot().context.failure;
    this.#resolveDone({ failure: failure === null ? null : ServingError.from(failure) });
  }

  #beat(): void {
    const bus = this.#bus;
    if (bus === null || bus.state !== "connected") return;
    this.#guard(() => {
      const beat = this.heartbeat();
      this.#sequence += 1;
      const model = beat.model as ModelName | null;
      bus.publish(
        this.#options.subjects.heartbeat(this.role, model, this.id),
        ActorHeartbeat.encode(beat),
      );
    });
  }

  #answerPing(message: BusMessage): void {
    message.respond(ActorHeartbeat.encode(this.heartbeat()));
  }

  #answerProbe(message: BusMessage): void {
    const generation = this.#facts().generation ?? this.generation;
    message.respond(ProbeReply.encode({ id: this.id, generation }));
  }

  #facts(): HeartbeatFacts {
    return this.#instance?.heartbeat?.() ?? {};
  }

  /** Tells the machine; nothing that comes after its end counts. */
  #send(event: LifecycleEvent): void {
    if (this.#state !== "stopped") this.#machine.send(event);
  }

  /** What an actor throws in a notice must not stop its lifecycle. */
  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#options.log.error({ err: error }, "actor notice failed");
    }
  }

  #tellWaiters(): void {
    for (const waiter of [...this.#waiters]) {
      if (waiter.state === this.#state) waiter.resolve();
      else if (this.#state !== "stopped") continue;
      else waiter.reject(new ServingError("not_ready", { problem: `${this.role} has stopped` }));
      this.#waiters.delete(waiter);
    }
  }
}
