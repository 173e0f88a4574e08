import { createKvFeedFollower, KvFeedFigures } from "@baton/cluster-view";
import { createRadixTree, RankSlots } from "@baton/kv-router";
import {
  type CatalogWorker,
  GetKvEvents,
  KvEvents,
  KvFeed,
  KvHistory,
  workerId,
} from "@baton/protocol";
import { catalogWorker, type MemoryCluster, PlayedActor, workerRegistration } from "@baton/testing";
import { blocksOf, FakeSource, model, stored } from "./kv-world.ts";

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
    const source = new FakeSource(id, generation);
    this.source = source;
    const facts = {
      get kvBatches() {
        const { sequence } = source;
        return sequence === 0 ? [] : [{ dpRank: 0, sequence }];
      },
    };
    this.life = new PlayedActor(cluster, { role: "worker", id, model, generation, facts });
    const asked = cluster.subjects.worker("get-kv-events", model, this.life.id);
    this.life.bus.subscribe(asked, (message) => {
      const { from, dump, page } = GetKvEvents.decode(message.payload);
      this.asks.push(from);
      if (this.answers) message.respond(KvHistory.encode(this.source.history(from, dump, page)));
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

/** Follows a model's feed as a router does, and notes what is on it. */
export function followFeed(cluster: MemoryCluster, id = "router") {
  const index = createRadixTree();
  const slots = new RankSlots();
  const ctx = cluster.context({ role: "decode-router", id });
  const entries: string[] = [];
  const epochs: number[] = [];
  cluster.bus(`ear-of-${id}`).subscribe(cluster.subjects.kvFeed(model), ({ payload }) => {
    const { kind, workerId, generation, sequence, epoch } = KvFeed.decode(payload);
    entries.push(`${kind} ${workerId}/${generation} ${sequence}`);
    if (epochs.at(-1) !== epoch) epochs.push(epoch);
  });
  const figures = new KvFeedFigures(ctx.metrics);
  const follower = createKvFeedFollower(ctx, { model, role: "prefill", index, slots, figures });
  follower.start();
  /** The blocks on the device of a worker, in order; null if it has no slot. */
  const held = (worker: string, generation = 1): number[] | null => {
    const slot = slots.slotOf({ workerId: workerId(worker), generation, dpRank: 0 });
    if (slot === undefined) return null;
    return blocksOf(index.blocksOf(slot, "device")).sort((one, other) => one - other);
  };
  return { ctx, bus: ctx.bus, entries, epochs, follower, index, slots, held };
}
