import {
  createRadixTree,
  defaultFeedApplierOptions,
  FeedApplier,
  type FeedAsk,
  RankSlots,
} from "@baton/kv-router";
import {
  type KvEvents,
  KvFeed,
  KvHistory,
  type KvPosition,
  KvPositions,
  type WorkerId,
} from "@baton/protocol";
import { ManualClock, SeededRandom } from "@baton/runtime";
import { HistoryDesk } from "../../src/history-desk.ts";
import { ModelFeed } from "../../src/model-feed.ts";
import {
  type ListedWorker,
  makeTableCounts,
  type SourceAsk,
  SourceTable,
} from "../../src/source/source-table.ts";
import { blocksOf, FakeSource, model, tiers } from "./kv-world.ts";
import { grow, shrink, treeBlocks } from "./tree-of-blocks.ts";

const ids = ["w1", "w2", "w3"];
const tableOptions = {
  attempts: 2,
  firstBackoffMs: 50,
  maxBackoffMs: 200,
  bufferedBatches: 4,
  lostHoldMs: 500,
  maxSources: 100,
};
const applierOptions = {
  ...defaultFeedApplierOptions,
  bufferedBatches: 4,
  inlineBytes: 60,
  firstBackoffMs: 50,
  maxBackoffMs: 200,
  firstResyncMs: 100,
  maxResyncMs: 400,
  maxAsks: 3,
};

/** A router's end: an applier with its index, and what it was told. */
class Follower {
  readonly index = createRadixTree();
  readonly slots = new RankSlots();
  readonly applier = new FeedApplier(applierOptions, {
    index: this.index,
    slots: this.slots,
    wants: () => true,
    onMalformed: (_rank, error) => {
      throw error;
    },
  });
  /** The newest generation of each worker that it was told is gone, or is followed by a later one. */
  readonly #gone = new Map<string, number>();
  readonly #goneIn = new Map<string, number>();
  #epoch = 0;
  #feedSequence = 0;

  take(bytes: Uint8Array, nowMs: number): void {
    const entry = KvFeed.decode(bytes);
    const isStale = entry.epoch < this.applier.epoch;
    const isLate = entry.epoch === this.#epoch && entry.feedSequence <= this.#feedSequence;
    this.applier.take(entry, nowMs);
    if (isStale || isLate) return;
    const isOfLaterEpoch = entry.epoch !== this.#goneIn.get(entry.workerId);
    this.#epoch = entry.epoch;
    this.#feedSequence = entry.feedSequence;
    const { workerId: id, generation } = entry;
    const gone = this.#gone.get(id) ?? 0;
    if (entry.kind === "gone") {
      this.#gone.set(id, Math.max(gone, generation));
      this.#goneIn.set(id, entry.epoch);
    } else if (gone === generation && isOfLaterEpoch) this.#gone.set(id, generation - 1);
    else if (entry.kind === "back" && gone === generation) this.#gone.set(id, generation - 1);
    else if (entry.kind !== "back" && generation > gone) this.#gone.set(id, generation - 1);
  }

  takePositions(positions: KvPositions, nowMs: number): void {
    this.applier.takePositions(positions, nowMs);
    for (const { workerId: id, generation } of positions.ranks) {
      if (
        this.#gone.get(id) === generation &&
        this.slots.slotOf({ workerId: id, generation, dpRank: 0 })
      ) {
        this.#gone.set(id, generation - 1);
      }
    }
  }

  /** Generations that are dead, of which it was told so, and that it credits with blocks all the same. */
  credited(
    living: ReadonlyMap<string, FakeSource>,
  ): { readonly id: string; readonly generation: number }[] {
    const credited: { readonly id: string; readonly generation: number }[] = [];
    for (const [id, gone] of this.#gone) {
      const dead = Math.min(gone, (living.get(id)?.generation ?? 0) - 1);
      for (let generation = 1; generation <= dead; generation++) {
        const slot = this.slots.slotOf({ workerId: id as WorkerId, generation, dpRank: 0 });
        if (slot === undefined) continue;
        const holds = tiers.some((tier) => this.index.blocksOf(slot, tier).byteLength > 0);
        if (holds) credited.push({ id, generation });
      }
    }
    return credited;
  }

  /** What the index has of a rank, by tier. */
  held(id: string, generation: number): string {
    const slot = this.slots.slotOf({ workerId: id as WorkerId, generation, dpRank: 0 });
    return tiers
      .map((tier) => {
        const blocks = slot === undefined ? [] : blocksOf(this.index.blocksOf(slot, tier));
        return blocks.sort((a, b) => a - b).join(" ");
      })
      .join(" | ");
  }
}

/**
 * Workers, a catalog, an aggregator's core and a router's between lines that lose, repeat and delay what is sent on them, driven
 * by a seed. Everybody restarts now and then.
 */
export class FeedWorld {
  readonly clock = new ManualClock();
  readonly sources = new Map<string, FakeSource>();
  follower = new Follower();
  table: SourceTable;
  readonly faults: string[] = [];
  readonly #random: SeededRandom;
  readonly #listed = new Map<string, ListedWorker>();
  #desk: HistoryDesk;
  #feed: ModelFeed;
  #epoch = 1;
  /** The line is as it should be. */
  #isGood = false;
  #isAggregatorUp = true;
  #isRouterUp = true;
  readonly #lateBatches: KvEvents[] = [];
  readonly #lateEntries: Uint8Array[] = [];
  readonly #workerAsks: (() => void)[] = [];
  readonly #routerAsks: (() => void)[] = [];

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    this.table = this.#makeTable();
    this.#desk = this.#makeDesk();
    this.#feed = this.#makeFeed();
    for (const id of ids) this.#start(id, 1, true);
  }

  /** One thing happens. */
  async step(): Promise<void> {
    const id = this.#pick(ids);
    const roll = this.#random.number();
    if (roll < 0.55) this.#change(id);
    else if (roll < 0.8) await this.#wait(this.#pick([1, 20, 60, 300, 700]));
    else if (roll < 0.84) this.#silence(id);
    else if (roll < 0.88) this.list(id);
    else if (roll < 0.91) this.#restart(id, this.#chance(0.5));
    else if (roll < 0.94) this.#setAggregator(!this.#isAggregatorUp);
    else if (roll < 0.97) this.#setRouter(!this.#isRouterUp);
    else if (roll < 0.985) this.#restartAggregator();
    else this.#restartRouter();
    this.#pump();
    for (const { id: workerId, generation } of this.follower.credited(this.sources)) {
      this.faults.push(`${workerId}/${generation} is credited`);
    }
  }

  /** Everything works again, every worker says a few things more, and all that was going on comes to its end. */
  async heal(): Promise<void> {
    this.#isGood = true;
    this.#setAggregator(true);
    this.#setRouter(true);
    for (const id of ids) this.list(id);
    for (let round = 0; round < 4; round++) {
      for (const id of ids) this.#change(id);
      await this.#wait(100);
    }
    for (let turn = 0; turn < 100 && this.#isAtWork; turn++) await this.#wait(100);
  }

  get #isAtWork(): boolean {
    const { applier } = this.follower;
    const asks = this.#workerAsks.length + this.#routerAsks.length;
    return asks > 0 || !applier.isIdle || applier.recovering > 0 || this.table.recovering > 0;
  }

  /** What every living worker holds, and what the router thinks it does. */
  compare(): { readonly held: string[]; readonly known: string[] } {
    const held: string[] = [];
    const known: string[] = [];
    for (const [id, source] of this.sources) {
      const { cache, generation } = source;
      const on = (tier: number) =>
        [...cache]
          .filter((place) => Math.floor(place / 1_000) === tier)
          .map((place) => place % 1_000)
          .sort((a, b) => a - b)
          .join(" ");
      held.push(`${id}/${generation}: ${on(0)} | ${on(1)} | ${on(2)}`);
      known.push(`${id}/${generation}: ${this.follower.held(id, generation)}`);
    }
    return { held, known };
  }

  /** The catalog learns of a worker as it is; a generation before it is replaced. */
  list(id: string, isLost = false): void {
    const source = this.sources.get(id);
    const before = this.#listed.get(id);
    if (source === undefined) return;
    const { generation } = source;
    if (before !== undefined && before.generation < generation) this.table.lose(before, "final");
    this.#listed.set(id, this.#entry(id, generation, isLost));
    this.table.workersChanged();
  }

  #entry(id: string, generation: number, isLost: boolean): ListedWorker {
    return { id: id as WorkerId, generation, model, isLost, dpRanks: [0] };
  }

  #start(id: string, generation: number, isListed: boolean): void {
    this.sources.set(id, new FakeSource(id, generation, 3, 2));
    if (isListed) this.list(id);
  }

  #restart(id: string, isListed: boolean): void {
    this.#start(id, (this.sources.get(id)?.generation ?? 0) + 1, isListed);
  }

  #silence(id: string): void {
    const listed = this.#listed.get(id);
    if (listed === undefined || listed.isLost || this.#isGood) return;
    const lost = { ...listed, isLost: true };
    this.#listed.set(id, lost);
    const end = this.#pick(["held", "held", "at once", "final"] as const);
    this.table.lose(lost, end);
    // Whoever said goodbye starts again before it works again.
    if (end === "final" && this.sources.get(id)?.generation === listed.generation) {
      this.#restart(id, false);
    }
  }

  #change(id: string): void {
    const source = this.sources.get(id);
    if (source === undefined) return;
    const block = 1 + Math.floor(this.#random.number() * treeBlocks);
    const roll = this.#random.number();
    const tier = this.#pick(["device", "device", "device", "host", "disk"] as const);
    const events =
      roll < 0.7
        ? grow(source, block, tier)
        : roll < 0.97
          ? shrink(source, block)
          : [{ kind: "cleared" as const }];
    if (events.length === 0) events.push(...grow(source, 1, "device"));
    this.#sendBatch(source.change(...events));
  }

  #sendBatch(batch: KvEvents): void {
    const hear = (each: KvEvents) => {
      if (this.#isAggregatorUp) this.table.batch(each);
    };
    const fate = this.#fate();
    if (fate === "late") this.#lateBatches.push(batch);
    if (fate === "arrives" || fate === "twice") hear(batch);
    if (fate === "twice") hear(batch);
    if (fate !== "arrives") return;
    for (const late of this.#lateBatches.splice(0)) hear(late);
  }

  #sendEntry(bytes: Uint8Array): void {
    const hear = (each: Uint8Array) => {
      if (this.#isRouterUp) this.follower.take(each, this.clock.nowMs());
    };
    const fate = this.#fate();
    if (fate === "late") this.#lateEntries.push(bytes);
    if (fate === "arrives" || fate === "twice") hear(bytes);
    if (fate === "twice") hear(bytes);
    if (fate !== "arrives") return;
    for (const late of this.#lateEntries.splice(0)) hear(late);
  }

  #fate(): "arrives" | "twice" | "late" | "lost" {
    if (this.#isGood) return "arrives";
    const roll = this.#random.number();
    if (roll < 0.8) return "arrives";
    return roll < 0.87 ? "twice" : roll < 0.93 ? "late" : "lost";
  }

  #setAggregator(isUp: boolean): void {
    const isBack = isUp && !this.#isAggregatorUp;
    this.#isAggregatorUp = isUp;
    if (isBack) this.table.busRestored();
  }

  #setRouter(isUp: boolean): void {
    const isBack = isUp && !this.#isRouterUp;
    this.#isRouterUp = isUp;
    if (!isBack) return;
    this.follower.applier.positionsMissed();
    this.follower.applier.retryNow(this.clock.nowMs());
  }

  #restartAggregator(): void {
    this.table.clear();
    this.#epoch += 1;
    this.table = this.#makeTable();
    this.#desk = this.#makeDesk();
    this.#feed = this.#makeFeed();
  }

  #restartRouter(): void {
    this.follower = new Follower();
  }

  async #wait(ms: number): Promise<void> {
    this.#answer(this.#workerAsks);
    await this.clock.advanceBy(ms);
    this.#answer(this.#routerAsks);
    await this.clock.advanceBy(0);
    this.#pump();
  }

  #answer(asks: (() => void)[]): void {
    for (const answer of asks.splice(0)) answer();
  }

  /** The router asks for what it lacks, and does some of its work. */
  #pump(): void {
    const { follower } = this;
    const { applier } = follower;
    if (this.#isRouterUp) {
      if (applier.wantsPositions) this.#askPositions(follower);
      for (const ask of applier.takeAsks(this.clock.nowMs())) this.#askHistory(follower, ask);
    }
    const steps = this.#isGood ? 1_000 : Math.floor(this.#random.number() * 6);
    for (let step = 0; step < steps && !applier.step(2); step++);
  }

  #askPositions(follower: Follower): void {
    follower.applier.askPositions();
    if (!this.#isAggregatorUp || this.#fate() === "lost") {
      follower.applier.positionsMissed();
      return;
    }
    const answer = KvPositions.encode({
      epoch: this.#epoch,
      feedSequence: this.#feed.feedSequence,
      ranks: this.#positions(),
    });
    const take = () => follower.takePositions(KvPositions.decode(answer), this.clock.nowMs());
    if (this.#fate() === "late") this.#routerAsks.push(take);
    else take();
  }

  #positions(): KvPosition[] {
    const positions = [...this.table.positions(model)];
    for (const { id: workerId, generation, isLost } of this.#listed.values()) {
      const isFollowed = this.table.follows(workerId, generation);
      if (isLost && !isFollowed) continue;
      if (this.table.isFenced(workerId, generation)) continue;
      if (positions.some((each) => each.workerId === workerId)) continue;
      positions.push({ workerId, generation, dpRank: 0, sequence: null });
    }
    return positions;
  }

  #askHistory({ applier }: Follower, ask: FeedAsk): void {
    const take = (answer: KvHistory | null) => applier.takeHistory(ask, answer, this.clock.nowMs());
    const { table } = this;
    const { workerId, generation } = ask.question;
    this.#routerAsks.push(() => {
      const isServed =
        this.#isAggregatorUp && this.#isRouterUp && !table.isFenced(workerId, generation);
      if (!isServed || this.#fate() === "lost") {
        take(null);
        return;
      }
      this.#desk.answer({ ...ask.question, model }).then(
        (answer) => take(KvHistory.decode(KvHistory.encode(answer))),
        () => take(null),
      );
    });
  }

  #makeTable(): SourceTable {
    return new SourceTable(tableOptions, {
      clock: this.clock,
      counts: makeTableCounts(),
      lookUp: (id) => this.#listed.get(id),
      emit: (_model, entry) => this.#feed.emit(entry),
      ask: (ask: SourceAsk, done) => {
        const atLeast = ask.from ?? 0;
        this.#desk.answer({ ...ask, dump: null, page: 0, atLeast }).then(done, () => done(null));
      },
    });
  }

  #makeDesk(): HistoryDesk {
    return new HistoryDesk(
      { keepMs: 100, maxBytes: 2_000 },
      {
        clock: this.clock,
        ask: ({ workerId, generation, from, dump, page }) =>
          new Promise((resolve, reject) => {
            this.#workerAsks.push(() => {
              const source = this.sources.get(workerId);
              const isThere = this.#isAggregatorUp && source?.generation === generation;
              if (isThere && this.#fate() !== "lost") resolve(source.history(from, dump, page));
              else reject(new Error("no answer"));
            });
          }),
      },
    );
  }

  #makeFeed(): ModelFeed {
    return new ModelFeed({
      epoch: this.#epoch,
      sent: { batch: 0, reached: 0, gone: 0, back: 0 },
      publish: (bytes) => {
        if (this.#isAggregatorUp) this.#sendEntry(bytes);
        return this.#isAggregatorUp;
      },
    });
  }

  #pick<T>(choices: readonly T[]): T {
    const choice = choices[Math.floor(this.#random.number() * choices.length)];
    if (choice === undefined) throw new Error("nothing to choose from");
    return choice;
  }

  #chance(of: number): boolean {
    return this.#random.number() < of;
  }
}
