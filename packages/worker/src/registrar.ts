import {
  ActorHeartbeat,
  Catalog,
  RegistrationReply,
  ServingError,
  WorkerDeregistration,
  WorkerRegistration,
} from "@baton/protocol";
import type { ActorContext, BusMessage, BusSubscription } from "@baton/runtime";
import type { Publisher } from "./publisher.ts";

const askTimeoutMs = 2_000;

/** What came of asking Discovery. */
export interface RegistrarListener {
  onAccepted(): void;
  onRefused(why: string): void;
  /** A later start of this worker was listed, and is lost. */
  onOutlived(generation: number): void;
  onFailed(): void;
  /** Discovery has forgotten this worker, or is a new one. */
  onOutdated(): void;
}

/** What a registrar is given. */
export interface RegistrarDeps {
  readonly context: ActorContext;
  readonly publisher: Publisher;
  /** The registration as of now. */
  readonly registration: () => WorkerRegistration;
  readonly listener: RegistrarListener;
}

/** Keeps a worker listed with Discovery: asks, and watches whether it still is. */
export class Registrar {
  readonly #deps: RegistrarDeps;
  readonly #subscriptions: BusSubscription[] = [];
  /** The epoch that has accepted or refused this worker. */
  #epoch: number | null = null;
  /** What the last answer said. */
  #isRefused = false;
  /** Answers to earlier questions are dropped. */
  #asked = 0;

  constructor(deps: RegistrarDeps) {
    this.#deps = deps;
  }

  /** Begins to watch Discovery. */
  watch(): void {
    const { bus, subjects } = this.#deps.context;
    this.#subscriptions.push(
      bus.subscribe(subjects.catalogPublished(), (message) => this.#onCatalog(message)),
      bus.subscribe(subjects.heartbeats("discovery"), (message) => this.#onHeartbeat(message)),
    );
  }

  stop(): void {
    this.#asked++;
    for (const subscription of this.#subscriptions.splice(0)) subscription.unsubscribe();
  }

  /** Asks to be listed. The listener hears what came of it, unless `ask` or `stop` is called before. */
  ask(): void {
    const question = ++this.#asked;
    this.#request().then(
      (reply) => {
        if (question === this.#asked) this.#take(reply);
      },
      (caught: unknown) => {
        if (question !== this.#asked) return;
        const { code } = ServingError.from(caught);
        this.#deps.context.log.debug({ code }, "registration not answered");
        this.#deps.listener.onFailed();
      },
    );
  }

  /** Says that this worker leaves. */
  leave(): void {
    this.stop();
    const { id, generation } = this.#deps.registration();
    this.#deps.publisher.publish(
      this.#deps.context.subjects.deregister(),
      WorkerDeregistration.encode({ id, generation }),
    );
  }

  async #request(): Promise<RegistrationReply> {
    const { bus, subjects } = this.#deps.context;
    const payload = WorkerRegistration.encode(this.#deps.registration());
    return RegistrationReply.decode(
      await bus.request(subjects.register(), payload, { timeoutMs: askTimeoutMs }),
    );
  }

  #take(reply: RegistrationReply): void {
    const { log } = this.#deps.context;
    this.#epoch = reply.epoch;
    this.#isRefused = !reply.accepted;
    if (reply.accepted) {
      log.info({ epoch: reply.epoch }, "worker registered");
      this.#deps.listener.onAccepted();
      return;
    }
    log.warn({ conflicts: reply.conflicts, why: reply.why }, "registration refused");
    const { lostGeneration } = reply;
    if (lostGeneration !== undefined && lostGeneration > this.#deps.registration().generation) {
      this.#deps.listener.onOutlived(lostGeneration);
    } else {
      this.#deps.listener.onRefused(reply.why ?? fieldsOf(reply));
    }
  }

  #onCatalog(message: BusMessage): void {
    if (this.#epoch === null) return;
    const catalog = Catalog.decode(message.payload);
    const { id, generation } = this.#deps.registration();
    const entry = catalog.workers.find((worker) => worker.registration.id === id);
    const isListed =
      entry !== undefined &&
      entry.registration.generation === generation &&
      entry.state !== "lost" &&
      // A lost worker that is heard again may be refused without having asked: its set was taken over.
      (entry.state === "refused") === this.#isRefused &&
      catalog.epoch === this.#epoch;
    if (!isListed) this.#deps.listener.onOutdated();
  }

  #onHeartbeat(message: BusMessage): void {
    const { catalog } = ActorHeartbeat.decode(message.payload);
    if (catalog === null || catalog.epoch === this.#epoch) return;
    this.#deps.listener.onOutdated();
  }
}

function fieldsOf(reply: RegistrationReply): string {
  return `refused by Discovery: ${reply.conflicts.map(({ field }) => field).join(", ")}`;
}
