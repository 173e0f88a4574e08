import {
  ActorHeartbeat,
  type ActorState,
  actorId,
  type ModelCard,
  modelName,
  RegistrationReply,
  WorkerDeregistration,
  WorkerRegistration,
} from "@baton/protocol";
import { type Bus, ProcessClock } from "@baton/runtime";
import type { MemoryCluster } from "@baton/testing";
import { registrationWith } from "./builders.ts";

const beatMs = 250;

/** A worker's part on the bus: life signs, and registration when the test says so. */
export class FakeWorker {
  readonly registration: WorkerRegistration;
  readonly bus: Bus;
  state: ActorState = "ready";
  readonly #cluster: MemoryCluster;
  readonly #clock: ProcessClock;
  #sequence = 0;

  constructor(
    cluster: MemoryCluster,
    id: string,
    card: Partial<ModelCard> = {},
    fields: Partial<WorkerRegistration> = {},
  ) {
    this.#cluster = cluster;
    this.#clock = new ProcessClock(cluster.clock);
    this.registration = registrationWith(id, card, { namespace: "test", ...fields });
    this.bus = cluster.bus(id);
    this.bus.subscribe(cluster.subjects.probe("worker", actorId(id)), () => undefined);
    this.#clock.setRepeating(beatMs, () => this.beat());
    this.beat();
  }

  beat(): void {
    const { id, generation, card } = this.registration;
    if (this.bus.state !== "connected") return;
    const model = modelName(card.model);
    this.bus.publish(
      this.#cluster.subjects.heartbeat("worker", model, actorId(id)),
      ActorHeartbeat.encode({
        id,
        role: "worker",
        namespace: "test",
        model,
        generation,
        sequence: this.#sequence++,
        intervalMs: beatMs,
        state: this.state,
        why: null,
        pid: 1,
        host: "h",
        admin: null,
        workerType: this.registration.workerType,
        set: this.registration.set,
        activation: null,
        catalog: null,
        api: null,
      }),
    );
  }

  /** Registers, with the answer. Time must move for it to come. */
  async register(): Promise<RegistrationReply> {
    const bytes = WorkerRegistration.encode(this.registration);
    const subject = this.#cluster.subjects.register();
    return RegistrationReply.decode(await this.bus.request(subject, bytes, { timeoutMs: 1_000 }));
  }

  deregister(): void {
    const { id, generation } = this.registration;
    const bytes = WorkerDeregistration.encode({ id, generation });
    this.bus.publish(this.#cluster.subjects.deregister(), bytes);
  }

  /** Beats no more, though its connection stands. */
  freeze(): void {
    this.#clock.pause();
  }

  thaw(): void {
    this.#clock.resume();
  }

  /** Dies without a word. */
  async kill(): Promise<void> {
    await this.bus.close();
  }
}
