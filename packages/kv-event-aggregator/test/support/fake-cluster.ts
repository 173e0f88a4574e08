import { type CatalogWorker, GetKvEvents, KvEvents, KvFeed, KvHistory } from "@baton/protocol";
import { catalogWorker, type MemoryCluster, PlayedActor, workerRegistration } from "@baton/testing";
import { FakeSource, FeedReader, model, stored } from "./kv-world.ts";

/** A worker's part on the bus: life signs, KV events, and answers about them. */
export class FakeWorker {
  readonly source: FakeSource;
  readonly life: PlayedActor;
  /** How it was asked: `from` of each ask. */
  readonly asks: (number | null)[] = [];
  answers = true;
  readonly #cluster: MemoryCluster;

  constructor(cluster: MemoryCluster, id: string, generation = 1) {
    this.#cluster = cluster;
    this.source = new FakeSource(id, generation);
    this.life = new PlayedActor(cluster, { role: "worker", id, model, generation });
    const asked = cluster.subjects.worker("get-kv-events", model, this.life.id);
    this.life.bus.subscribe(asked, (message) => {
      const { from } = GetKvEvents.decode(message.payload);
      this.asks.push(from);
      if (this.answers) message.respond(KvHistory.encode(this.source.history(from)));
    });
  }

  /** Stores a block and says so, unless the message is lost on the way. */
  store(block: number, isHeard = true): void {
    const batch = this.source.change(stored(block));
    if (isHeard) this.send(KvEvents.encode(batch));
  }

  send(bytes: Uint8Array): void {
    this.life.bus.publish(this.#cluster.subjects.kvChanged(model, this.life.id), bytes);
  }

  /** Its place in a catalog. */
  entry(): CatalogWorker {
    const { id, generation } = this.life;
    return catalogWorker(workerRegistration({ id, generation, card: { model } }));
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
