import {
  ActorHeartbeat,
  type ActorId,
  type ActorRole,
  type ActorState,
  actorId,
  type ModelName,
} from "@baton/protocol";
import { type Bus, ProcessClock } from "@baton/runtime";
import type { MemoryCluster } from "./memory-cluster.ts";
import { actorHeartbeat } from "./message-builders.ts";

/** Milliseconds between the life signs of a played actor. */
const beatMs = 250;

/** Whom to play. */
export interface PlayedActorOptions {
  readonly role: ActorRole;
  readonly id: string;
  readonly model: ModelName | null;
  readonly generation: number;
  /** What else its life signs say. */
  readonly facts?: Partial<ActorHeartbeat>;
}

/** An actor's life on the bus, without the actor: life signs from the start on, and an ear for probes that says nothing. */
export class PlayedActor {
  readonly id: ActorId;
  readonly generation: number;
  readonly bus: Bus;
  readonly #cluster: MemoryCluster;
  readonly #clock: ProcessClock;
  readonly #options: PlayedActorOptions;
  #sequence = 0;

  constructor(cluster: MemoryCluster, options: PlayedActorOptions) {
    this.id = actorId(options.id);
    this.generation = options.generation;
    this.bus = cluster.bus(options.id);
    this.#cluster = cluster;
    this.#clock = new ProcessClock(cluster.clock);
    this.#options = options;
    this.bus.subscribe(cluster.subjects.probe(options.role, this.id), () => undefined);
    this.#clock.setRepeating(beatMs, () => this.#beat("ready"));
    this.#beat("ready");
  }

  /** Beats no more, though its connection stands. */
  freeze(): void {
    this.#clock.pause();
  }

  thaw(): void {
    this.#clock.resume();
  }

  /** Says goodbye, and is gone. */
  leave(): void {
    this.#beat("stopped");
    this.kill();
  }

  /** Dies without a word. */
  kill(): void {
    this.#clock.kill();
    this.#cluster.network.kill(this.id);
  }

  #beat(state: ActorState): void {
    if (this.bus.state !== "connected") return;
    const { role, model, facts } = this.#options;
    const heartbeat = actorHeartbeat(this.id, {
      role,
      namespace: this.#cluster.namespace,
      model,
      generation: this.generation,
      sequence: this.#sequence++,
      intervalMs: beatMs,
      state,
      ...facts,
    });
    const subject = this.#cluster.subjects.heartbeat(role, model, this.id);
    this.bus.publish(subject, ActorHeartbeat.encode(heartbeat));
  }
}
