import type { KvEvents, KvHistory, WorkerId } from "@baton/protocol";
import { ManualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import {
  type ListedWorker,
  makeTableCounts,
  type SourceAsk,
  SourceTable,
  type SourceTableOptions,
} from "../../src/source/source-table.ts";
import { FakeSource, model, stored } from "../support/kv-world.ts";

function tableWith(options: Partial<SourceTableOptions> = {}) {
  const clock = new ManualClock();
  const counts = makeTableCounts();
  const listed = new Map<string, ListedWorker>();
  const feed: string[] = [];
  const asks: { ask: SourceAsk; done: (answer: KvHistory | null) => void }[] = [];
  const bus = { isUp: true };
  const table = new SourceTable(
    {
      attempts: 2,
      firstBackoffMs: 100,
      maxBackoffMs: 100,
      bufferedBatches: 8,
      lostHoldMs: 5_000,
      maxSources: 10,
      ...options,
    },
    {
      clock,
      counts,
      lookUp: (id) => listed.get(id),
      emit: (_model, { kind, workerId, generation, dpRank, sequence }) => {
        if (bus.isUp) feed.push(`${kind} ${workerId}/${generation}.${dpRank} ${sequence}`);
        return bus.isUp;
      },
      ask: (ask, done) => asks.push({ ask, done }),
    },
  );
  const list = (id: string, generation = 1, isLost = false): ListedWorker => {
    const worker = { id: id as WorkerId, generation, model, isLost };
    listed.set(id, worker);
    table.workersChanged();
    return worker;
  };
  const hear = (batch: KvEvents, dpRank = 0) => table.batch({ ...batch, dpRank });
  return { table, clock, counts, feed, asks, bus, list, hear };
}

describe("SourceTable", () => {
  it("keeps ranks apart", () => {
    const { feed, list, hear } = tableWith();
    list("w");
    const source = new FakeSource("w", 1);
    const first = source.change(stored(1));

    hear(first, 0);
    hear(first, 1);

    expect(feed).toEqual(["batch w/1.0 1", "batch w/1.1 1"]);
  });

  it("says gone of the old generation before a later one begins, and relays nothing of it any more", () => {
    const { feed, list, hear, counts } = tableWith();
    const old = new FakeSource("w", 1);
    list("w", 1);
    hear(old.change(stored(1)));
    list("w", 2);

    hear(new FakeSource("w", 2).change(stored(2)));
    hear(old.change(stored(3)));

    expect(feed).toEqual(["batch w/1.0 1", "gone w/1.0 0", "batch w/2.0 1"]);
    expect(counts.fenced).toBe(1);
  });

  it("gives up a silent worker only after its hold, and goes on where it was if it comes back", async () => {
    const { table, feed, list, hear, asks, clock } = tableWith();
    const source = new FakeSource("w", 1);
    list("w");
    hear(source.change(stored(1)));
    table.lose(list("w", 1, true), false);
    await clock.advanceBy(4_900);
    source.change(stored(2));

    list("w");
    asks[0]?.done(source.history(asks[0].ask.from));
    await clock.advanceBy(10_000);

    expect(feed).toEqual(["batch w/1.0 1", "batch w/1.0 2"]);
    table.lose(list("w", 1, true), false);
    await clock.advanceBy(5_000);
    expect(feed.at(-1)).toBe("gone w/1.0 0");
    list("w");
    hear(source.change(stored(3)));
    expect(feed.length).toBe(3);
  });

  it("tells of a lost worker even if it was never heard here", () => {
    const { table, feed, list } = tableWith();

    table.lose(list("w", 3), true);
    table.lose(list("w", 3), true);

    expect(feed).toEqual(["gone w/3.0 0"]);
  });

  it("asks for what a worker sent before it was listed, of each of its ranks", () => {
    const { feed, list, hear, asks, counts } = tableWith();
    const source = new FakeSource("w", 4);
    hear(source.change(stored(1)), 0);
    hear(source.change(stored(2)), 1);
    expect(feed).toEqual([]);
    expect(counts.unlisted).toBe(2);

    list("w", 4);

    expect(asks.map(({ ask }) => [ask.dpRank, ask.from])).toEqual([
      [0, null],
      [1, null],
    ]);
  });

  it("owes what the bus did not take, and says it when the bus is back", () => {
    const { table, feed, list, bus } = tableWith();
    bus.isUp = false;
    table.lose(list("w"), true);
    expect(feed).toEqual([]);

    bus.isUp = true;
    table.busRestored();
    table.busRestored();

    expect(feed).toEqual(["gone w/1.0 0"]);
  });

  it("follows no more ranks than it may", () => {
    const { table, list, hear, counts, feed } = tableWith({ maxSources: 2 });
    list("w");
    const batch = new FakeSource("w", 1).change(stored(1));

    for (const rank of [0, 1, 2]) hear(batch, rank);

    expect(feed.length).toBe(2);
    expect(table.size).toBe(2);
    expect(counts.refused).toBe(1);
    table.lose(list("w"), true);
    expect(table.size).toBe(0);
  });

  it("counts what waits and what is being recovered", () => {
    const { table, list, hear } = tableWith();
    list("w");
    const source = new FakeSource("w", 1);
    const batches = [1, 2, 3].map((block) => source.change(stored(block)));

    hear(batches[0] as KvEvents);
    hear(batches[2] as KvEvents);

    expect(table.buffered).toBe(1);
    expect(table.recovering).toBe(1);
    table.clear();
    expect([table.size, table.buffered, table.recovering]).toEqual([0, 0, 0]);
  });
});
