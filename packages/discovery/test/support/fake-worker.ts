import {
  type ModelCard,
  modelName,
  RegistrationReply,
  WorkerDeregistration,
  WorkerRegistration,
} from "@baton/protocol";
import { type MemoryCluster, PlayedActor, type RegistrationChanges } from "@baton/testing";
import { registrationWith } from "./builders.ts";

/** A worker's part on the bus: life signs, and registration when the test says so. */
export class FakeWorker {
  readonly registration: WorkerRegistration;
  readonly life: PlayedActor;
  readonly #cluster: MemoryCluster;

  constructor(
    cluster: MemoryCluster,
    id: string,
    card: Partial<ModelCard> = {},
    changes: Omit<RegistrationChanges, "card"> = {},
  ) {
    this.#cluster = cluster;
    this.registration = registrationWith(id, card, changes);
    const { generation, workerType, set } = this.registration;
    this.life = new PlayedActor(cluster, {
      role: "worker",
      id,
      model: modelName(this.registration.card.model),
      generation,
      facts: { workerType, set },
    });
  }

  /** Registers, with the answer. Time must move for it to come. */
  async register(): Promise<RegistrationReply> {
    const bytes = WorkerRegistration.encode(this.registration);
    const subject = this.#cluster.subjects.register();
    return RegistrationReply.decode(
      await this.life.bus.request(subject, bytes, { timeoutMs: 1_000 }),
    );
  }

  deregister(): void {
    const { id, generation } = this.registration;
    const bytes = WorkerDeregistration.encode({ id, generation });
    this.life.bus.publish(this.#cluster.subjects.deregister(), bytes);
  }
}
