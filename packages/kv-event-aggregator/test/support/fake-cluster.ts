import {
  ActorHeartbeat,
  type ActorId,
  actorId,
  Catalog,
  type CatalogWorker,
  GetKvEvents,
  KvEvents,
  KvFeed,
  KvHistory,
} from "@baton/protocol";
import { type Bus, ProcessClock } from "@baton/runtime";
import { catalog, catalogWorker, type MemoryCluster, workerRegistration } from "@baton/testing";
import { FakeSource, FeedReader, model, stored } from "./kv-world.ts";

const beatMs = 250;

function beat(id: string, role: ActorHeartbeat["role"], generation: number): ActorHeartbeat {
  return {
    id,
    role,
    namespace: "test",
    model: role === "worker" ? model : null,
    generation,
    sequence: 1,
    intervalMs: beatMs,
    state: "ready",
    why: null,
    pid: 1,
    host: "h",
    admin: null,
    workerType: null,
    set: null,
    activation: null,
    catalog: null,
    api: null,
  };
}

/** A worker's part on the bus: life signs, KV events, and answers about them. */
export class FakeWorker {
  source: FakeSource;
  readonly id: ActorId;
  readonly bus: Bus;
  /** How it was asked: `from` of each ask. */
  readonly asks: (number | null)[] = [];
  answers = true;
  readonly #cluster: MemoryCluster;
  readonly #clock: ProcessClock;

  constructor(cluster: MemoryCluster, id: string, generation = 1) {
    this.#cluster = cluster;
    this.#clock = new ProcessClock(cluster.clock);
    this.id = actorId(id);
    this.source = new FakeSource(id, generation);
    this.bus = cluster.bus(id);
    const { subjects } = cluster;
    this.bus.subscribe(subjects.probe("worker", this.id), () => undefined);
    this.bus.subscribe(subjects.worker("get-kv-events", model, this.id), (message) => {
      const { from } = GetKvEvents.decode(message.payload);
      this.asks.push(from);
      if (this.answers) message.respond(KvHistory.encode(this.source.history(from)));
    });
    this.#clock.setRepeating(beatMs, () => this.beat());
    this.beat();
  }

  beat(): void {
    if (this.bus.state !== "connected") return;
    const heartbeat = beat(this.id, "worker", this.source.generation);
    const subject = this.#cluster.subjects.heartbeat("worker", model, this.id);
    this.bus.publish(subject, ActorHeartbeat.encode(heartbeat));
  }

  /** Stores a block and says so, unless the message is lost on the way. */
  store(block: number, isHeard = true): void {
    const batch = this.source.change(stored(block));
    if (isHeard) this.send(KvEvents.encode(batch));
  }

  send(bytes: Uint8Array): void {
    this.bus.publish(this.#cluster.subjects.kvChanged(model, this.id), bytes);
  }

  freeze(): void {
    this.#clock.pause();
  }

  thaw(): void {
    this.#clock.resume();
  }

  entry(state: CatalogWorker["state"] = "live"): CatalogWorker {
    const registration = workerRegistration({
      id: this.id,
      generation: this.source.generation,
      card: { model },
    });
    return catalogWorker(registration, { state });
  }
}

/** A Discovery that publishes what the test wants, and answers with it. */
export class FakeDiscovery {
  readonly #bus: Bus;
  readonly #cluster: MemoryCluster;
  #catalog: Catalog;

  constructor(cluster: MemoryCluster) {
    this.#cluster = cluster;
    this.#bus = cluster.bus("disc");
    this.#catalog = catalog([], { epoch: 1, revision: 0 });
    this.#bus.subscribe(cluster.subjects.getCatalog(), (message) =>
      message.respond(Catalog.encode(this.#catalog)),
    );
  }

  list(...workers: readonly FakeWorker[]): void {
    const revision = this.#catalog.revision + 1;
    this.#catalog = catalog(
      workers.map((worker) => worker.entry()),
      { epoch: 1, revision },
    );
    this.#bus.publish(this.#cluster.subjects.catalogPublished(), Catalog.encode(this.#catalog));
  }
}

/** Follows a model's feed. */
export function followFeed(cluster: MemoryCluster) {
  const reader = new FeedReader();
  const entries: string[] = [];
  const epochs: number[] = [];
  const bus = cluster.bus("consumer");
  bus.subscribe(cluster.subjects.kvFeed(model), ({ payload }) => {
    const { kind, workerId, generation, sequence, epoch } = KvFeed.decode(payload);
    entries.push(`${kind} ${workerId}/${generation} ${sequence}`);
    if (epochs.at(-1) !== epoch) epochs.push(epoch);
    reader.read(payload);
  });
  return { bus, reader, entries, epochs };
}
