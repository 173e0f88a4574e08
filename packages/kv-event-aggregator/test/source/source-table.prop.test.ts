import type { KvEvents, KvHistory, WorkerId } from "@baton/protocol";
import { ManualClock } from "@baton/runtime";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ModelFeed } from "../../src/model-feed.ts";
import {
  type ListedWorker,
  makeTableCounts,
  type SourceAsk,
  SourceTable,
} from "../../src/source/source-table.ts";
import { FakeSource, FeedReader, model, stored } from "../support/kv-world.ts";

const worker = fc.constantFrom("w1", "w2", "w3");
const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant("change" as const),
      worker,
      block: fc.integer({ min: 0, max: 12 }),
      event: fc.constantFrom(
        "stored" as const,
        "stored" as const,
        "removed" as const,
        "cleared" as const,
      ),
      fate: fc.constantFrom("arrives", "arrives", "arrives", "is lost", "is repeated", "is late"),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("silence" as const), worker, isFinal: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("back" as const), worker }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("restart" as const), worker, isListed: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("list" as const), worker }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("bus" as const), isUp: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("dump" as const), worker }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      ms: fc.constantFrom(1, 50, 300, 2_000),
      answers: fc.constantFrom("answered", "failed", "failed", "kept"),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Workers, a catalog, a bus and an aggregator's table between them. */
class World {
  readonly clock = new ManualClock();
  readonly reader = new FeedReader();
  readonly sources = new Map<string, FakeSource>();
  readonly listed = new Map<string, ListedWorker>();
  readonly late: KvEvents[] = [];
  readonly table: SourceTable;
  isUp = true;
  #asks: { ask: SourceAsk; done: (answer: KvHistory | null) => void }[] = [];

  constructor() {
    const publish = (bytes: Uint8Array) => {
      if (this.isUp) this.reader.read(bytes);
      return this.isUp;
    };
    const feed = new ModelFeed({ epoch: 1, sent: { batch: 0, dump: 0, gone: 0 }, publish });
    this.table = new SourceTable(
      {
        attempts: 2,
        firstBackoffMs: 50,
        maxBackoffMs: 200,
        bufferedBatches: 4,
        lostHoldMs: 500,
        maxSources: 100,
      },
      {
        clock: this.clock,
        counts: makeTableCounts(),
        lookUp: (id) => this.listed.get(id),
        emit: (_model, entry) => feed.emit(entry),
        ask: (ask, done) => this.#asks.push({ ask, done }),
      },
    );
    for (const id of ["w1", "w2", "w3"]) this.start(id, 1, true);
  }

  start(id: string, generation: number, isListed: boolean): void {
    this.sources.set(id, new FakeSource(id, generation));
    if (isListed) this.list(id, false);
  }

  /** The catalog learns of a worker as it is; a generation before it is replaced. */
  list(id: string, isLost: boolean): void {
    const source = this.sources.get(id);
    const before = this.listed.get(id);
    if (source === undefined) return;
    if (before !== undefined && before.generation < source.generation) {
      this.table.lose(before, true);
    }
    const { generation } = source;
    this.listed.set(id, { id: id as WorkerId, generation, model, isLost });
    this.table.workersChanged();
  }

  lose(id: string, isFinal: boolean): void {
    const listed = this.listed.get(id);
    if (listed === undefined || listed.isLost) return;
    const lost = { ...listed, isLost: true };
    this.listed.set(id, lost);
    this.table.lose(lost, isFinal);
    // Whoever said goodbye starts again before it works again.
    if (isFinal) this.start(id, listed.generation + 1, false);
  }

  hear(batch: KvEvents): void {
    if (this.isUp) this.table.batch(batch);
  }

  setBus(isUp: boolean): void {
    const isBack = isUp && !this.isUp;
    this.isUp = isUp;
    if (isBack) this.table.busRestored();
  }

  answer(how: string): void {
    if (how === "kept") return;
    const asks = this.#asks;
    this.#asks = [];
    for (const { ask, done } of asks) {
      const source = this.sources.get(ask.workerId);
      const isThere = how === "answered" && this.isUp && source?.generation === ask.generation;
      done(isThere ? source.history(ask.from) : null);
    }
  }

  async run(next: Step): Promise<void> {
    switch (next.kind) {
      case "change":
        return this.#change(next);
      case "silence":
        return this.lose(next.worker, next.isFinal);
      case "back":
      case "list":
        return this.list(next.worker, false);
      case "restart":
        return this.start(
          next.worker,
          (this.sources.get(next.worker)?.generation ?? 0) + 1,
          next.isListed,
        );
      case "bus":
        return this.setBus(next.isUp);
      case "dump": {
        const listed = this.listed.get(next.worker);
        if (listed !== undefined && !listed.isLost) this.table.requestDump(listed, 0);
        return;
      }
      case "wait":
        this.answer(next.answers);
        await this.clock.advanceBy(next.ms);
    }
  }

  #change(next: Extract<Step, { kind: "change" }>): void {
    const source = this.sources.get(next.worker);
    if (source === undefined) return;
    const hashes = stored(next.block);
    const removed = { kind: "removed", sequenceHashes: new Uint8Array() } as const;
    const event =
      hashes.kind === "stored" && next.event === "removed"
        ? { ...removed, sequenceHashes: hashes.sequenceHashes }
        : next.event === "cleared"
          ? ({ kind: "cleared" } as const)
          : hashes;
    const batch = source.change(event);
    if (next.fate === "is late") this.late.push(batch);
    if (next.fate === "arrives" || next.fate === "is repeated") this.hear(batch);
    if (next.fate === "is repeated") this.hear(batch);
    if (next.fate === "arrives") for (const old of this.late.splice(0)) this.hear(old);
  }

  /** Everything works again, and each worker says one thing more. */
  async heal(): Promise<void> {
    this.setBus(true);
    for (const id of this.sources.keys()) this.list(id, false);
    for (const source of this.sources.values()) {
      if (this.table.isFenced(source.workerId, source.generation)) {
        // Its generation was given up while it was silent: it comes back as another.
        this.start(source.workerId, source.generation + 1, true);
      }
    }
    for (let round = 0; round < 12; round++) {
      for (const source of this.sources.values()) this.hear(source.change(stored(99)));
      this.answer("answered");
      await this.clock.advanceBy(1_000);
    }
    this.answer("answered");
  }
}

const asLists = (caches: Iterable<[string, { readonly cache: Set<number> }]>) =>
  Object.fromEntries([...caches].map(([id, { cache }]) => [id, [...cache].sort()]));

describe("SourceTable, any history", () => {
  it("gives a feed that replays to the workers' caches, and is silent about a generation that is gone", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 100 }), async (steps) => {
        const world = new World();
        for (const next of steps) {
          await world.run(next);
          expect(world.table.buffered).toBeLessThanOrEqual(12);
        }
        await world.heal();

        expect(world.reader.faults).toEqual([]);
        expect(asLists(world.reader.workers)).toEqual(asLists(world.sources));
        expect(world.table.buffered).toBe(0);
        world.table.clear();
        expect(world.clock.pendingTimers).toBe(0);
      }),
      { numRuns: 400 },
    );
  });
});
