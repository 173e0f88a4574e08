import { KvEvents } from "@baton/protocol";
import { SeededRandom } from "@baton/runtime";
import { memoryCluster, PlayedDiscovery } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { kvEventAggregator } from "../src/actor.ts";
import type { KvEventAggregatorConfig } from "../src/config.ts";
import { FakeWorker, followFeed } from "./support/fake-cluster.ts";
import { grow, shrink, treeBlocks } from "./support/tree-of-blocks.ts";

const config: KvEventAggregatorConfig = {
  bufferedBatches: 8,
  recoveryAttempts: 3,
  recoveryBackoffMs: 50,
  recoveryTimeoutMs: 500,
  recoveryConcurrency: 4,
  lostHoldMs: 2_000,
  maxSources: 100,
  maxHistoryAsks: 100,
  dumpKeepMs: 300,
  dumpCacheBytes: 10_000,
};
const steps = 40;

/** A cluster with the real aggregator and followers, and what a seed does to it. */
class FaultyCluster {
  readonly #cluster;
  readonly #random: SeededRandom;
  readonly #discovery: PlayedDiscovery;
  readonly #workers = new Map<string, FakeWorker>();
  readonly #dead: { readonly id: string; readonly generation: number }[] = [];
  #aggregator;
  readonly #routers: ReturnType<typeof followFeed>[] = [];
  #started = 0;

  constructor(seed: number) {
    this.#cluster = memoryCluster({ seed, maxDelayMs: 5 });
    this.#random = new SeededRandom(`faults ${seed}`);
    this.#discovery = new PlayedDiscovery(this.#cluster);
    this.#aggregator = this.#startAggregator();
    for (const id of ["w1", "w2", "w3"]) this.#startWorker(id);
    for (let at = 0; at < 2; at++) this.#routers.push(this.#startRouter());
  }

  async step(): Promise<void> {
    const { clock, network } = this.#cluster;
    const worker = this.#pick([...this.#workers.values()]);
    const roll = this.#random.number();
    if (roll < 0.6) this.#change(worker, this.#random.number() < 0.85);
    else if (roll < 0.65) worker.life.freeze();
    else if (roll < 0.72) worker.life.thaw();
    else if (roll < 0.75) this.#restart(worker);
    else if (roll < 0.78) await this.#restartAggregator();
    else if (roll < 0.82) network.disconnect(this.#pick(this.#routers).ctx.id);
    else if (roll < 0.9) for (const { ctx } of this.#routers) network.reconnect(ctx.id);
    else if (roll < 0.93) network.disconnect(this.#aggregator.id);
    else if (roll < 0.97) network.reconnect(this.#aggregator.id);
    else this.#restartRouter();
    await clock.advanceBy(this.#pick([0, 1, 5, 20, 100, 400, 1_500, 4_000]));
  }

  async heal(): Promise<void> {
    const { clock, network } = this.#cluster;
    network.reconnect(this.#aggregator.id);
    for (const { ctx } of this.#routers) network.reconnect(ctx.id);
    for (const worker of this.#workers.values()) worker.life.thaw();
    await clock.advanceBy(5_000);
    for (const worker of this.#workers.values()) this.#change(worker, true);
    await clock.advanceBy(20_000);
  }

  /** What routers have, and what workers hold. */
  compare(): { readonly held: unknown; readonly known: unknown; readonly credited: string[] } {
    const held = [...this.#workers].map(([id, { source }]) => [
      id,
      source.generation,
      [...source.cache].sort((one, other) => one - other),
    ]);
    const known = this.#routers.map((router) =>
      [...this.#workers].map(([id, { source }]) => [
        id,
        source.generation,
        router.held(id, source.generation) ?? [],
      ]),
    );
    return { held: this.#routers.map(() => held), known, credited: this.#credited() };
  }

  /** Generations that are dead, and that a router credits all the same. */
  #credited(): string[] {
    return this.#dead.flatMap(({ id, generation }) =>
      this.#routers
        .filter((router) => (router.held(id, generation)?.length ?? 0) > 0)
        .map((router) => `${router.ctx.id} credits ${id}/${generation}`),
    );
  }

  stop(): void {
    for (const { follower } of this.#routers) follower.stop();
  }

  #change(worker: FakeWorker, isHeard: boolean): void {
    const { source } = worker;
    // What is the last of a worker, and lost, nobody can miss: so each says something in the end.
    const block = 1 + Math.floor(this.#random.number() * treeBlocks);
    const events =
      this.#random.number() < 0.7 ? grow(source, block, "device") : shrink(source, block);
    if (events.length === 0) events.push(...grow(source, 1, "device"), ...shrink(source, 1));
    const batch = source.change(...events);
    // A worker whose process stands says nothing of it.
    if (isHeard && worker.life.bus.state === "connected") worker.send(KvEvents.encode(batch));
  }

  #startWorker(id: string): void {
    this.#started += 1;
    this.#workers.set(id, new FakeWorker(this.#cluster, id, this.#started));
    this.#discovery.list([...this.#workers.values()].map((worker) => worker.entry()));
  }

  #restart({ life }: FakeWorker): void {
    life.kill();
    this.#dead.push({ id: life.id, generation: life.generation });
    this.#startWorker(life.id);
  }

  #startAggregator() {
    this.#started += 1;
    return this.#cluster.start(kvEventAggregator, config, { id: `agg-${this.#started}` });
  }

  async #restartAggregator(): Promise<void> {
    await this.#aggregator.kill();
    this.#aggregator = this.#startAggregator();
  }

  #startRouter() {
    this.#started += 1;
    return followFeed(this.#cluster, `router-${this.#started}`);
  }

  #restartRouter(): void {
    const gone = this.#routers.shift();
    if (gone === undefined) return;
    gone.follower.stop();
    this.#cluster.network.kill(gone.ctx.id);
    this.#routers.push(this.#startRouter());
  }

  #pick<T>(choices: readonly T[]): T {
    const choice = choices[Math.floor(this.#random.number() * choices.length)];
    if (choice === undefined) throw new Error("nothing to choose from");
    return choice;
  }
}

describe("aggregator and routers on a bus, with faults", () => {
  it("ends with what the workers hold in every router, for a hundred seeds", async () => {
    for (let seed = 1; seed <= 100; seed++) {
      const cluster = new FaultyCluster(seed);
      for (let step = 0; step < steps; step++) await cluster.step();
      await cluster.heal();

      const { held, known, credited } = cluster.compare();
      expect({ seed, known, credited }).toEqual({ seed, known: held, credited: [] });
      cluster.stop();
    }
  }, 180_000);
});
