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
    const worker = { id: id as WorkerId, generation, model, isLost, dpRanks: [0, 1] };
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

  it("follows no rank that its worker does not have, so that it takes nobody's place", () => {
    const { counts, feed, list, hear, table } = tableWith({ maxSources: 2 });
    list("w");
    list("v");
    const source = new FakeSource("w", 1);
    const change = source.change(stored(1));
    for (const dpRank of [2, 9, 4_000_000_000]) hear(change, dpRank);
    hear(change);
    hear(new FakeSource("v", 1).change(stored(1)));

    expect(feed).toEqual(["batch w/1.0 1", "batch v/1.0 1"]);
    expect(counts.refused).toBe(3);
    expect(table.size).toBe(2);
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

  it("believes a worker that says how far it is, but for one that is not listed, or gone, or another generation", () => {
    const { table, feed, list } = tableWith();
    const reach = (id: string, generation: number, dpRank = 0) =>
      table.reach({ workerId: id as WorkerId, generation, dpRank, sequence: 7 });
    reach("w", 2);
    expect(feed).toEqual([]);

    list("w", 2);
    for (const generation of [1, 2, 3]) reach("w", generation);
    reach("w", 2, 1);
    reach("w", 2, 9);
    list("gone");
    table.lose(list("gone", 1, true), "final");
    reach("gone", 1);

    expect(feed).toEqual(["reached w/2.0 7", "reached w/2.1 7", "gone gone/1.0 0"]);
  });

  it("gives up a silent worker only after its hold, and goes on where it was if it comes back", async () => {
    const { table, feed, list, hear, asks, clock } = tableWith();
    const source = new FakeSource("w", 1);
    list("w");
    hear(source.change(stored(1)));
    table.lose(list("w", 1, true), "held");
    await clock.advanceBy(4_900);
    source.change(stored(2));

    list("w");
    asks[0]?.done(source.history(asks[0].ask.from));
    await clock.advanceBy(10_000);

    expect(feed).toEqual(["batch w/1.0 1", "batch w/1.0 2"]);
    table.lose(list("w", 1, true), "held");
    await clock.advanceBy(5_000);
    expect(feed.at(-1)).toBe("gone w/1.0 0");
    hear(source.change(stored(3)));
    expect(feed.length).toBe(3);
  });

  it("takes a generation back that was given up for its silence, and says how far it is", async () => {
    const { table, feed, list, hear, asks, clock, counts } = tableWith();
    const source = new FakeSource("w", 1);
    list("w");
    hear(source.change(stored(1)));
    table.lose(list("w", 1, true), "held");
    await clock.advanceBy(5_000);
    source.change(stored(2));

    list("w");
    asks[0]?.done(source.history(asks[0].ask.from));
    hear(source.change(stored(3)));

    expect(feed.slice(1)).toEqual([
      "gone w/1.0 0",
      "back w/1.0 0",
      "reached w/1.0 2",
      "batch w/1.0 3",
    ]);
    expect(counts).toMatchObject({ gone: 1, back: 1 });
  });

  it("takes none back that has said goodbye, or was replaced meanwhile", async () => {
    const { table, feed, list, clock } = tableWith();
    table.lose(list("left", 1, true), "final");
    list("left", 1);
    table.lose(list("replaced", 1, true), "at once");
    table.lose(list("replaced", 2, true), "at once");
    list("replaced", 1);
    table.lose(list("silent", 1, true), "held");
    await clock.advanceBy(5_000);
    table.lose(list("silent", 1, true), "final");
    list("silent", 1);

    expect(feed.filter((entry) => entry.startsWith("back"))).toEqual([]);
  });

  it("owes gone and back in their order", async () => {
    const { table, feed, list, bus } = tableWith();
    bus.isUp = false;
    table.lose(list("w", 1, true), "at once");
    list("w");
    bus.isUp = true;

    table.busRestored();

    expect(feed).toEqual(["gone w/1.0 0", "back w/1.0 0"]);
  });

  it("lists what it follows, silent workers too, and how far each is", () => {
    const { table, list, hear } = tableWith();
    list("w");
    list("v");
    const source = new FakeSource("w", 1);
    hear(source.change(stored(1)));
    hear(source.change(stored(2)));
    table.lose(list("v", 1, true), "held");

    expect([...table.positions(model)]).toEqual([
      { workerId: "w", generation: 1, dpRank: 0, sequence: 2 },
    ]);
    expect(table.follows("v" as WorkerId, 1)).toBe(true);
    expect(table.follows("v" as WorkerId, 2)).toBe(false);
  });

  it("tells of a lost worker even if it was never heard here", () => {
    const { table, feed, list } = tableWith();

    table.lose(list("w", 3), "final");
    table.lose(list("w", 3), "final");

    expect(feed).toEqual(["gone w/3.0 0"]);
  });

  it("says how far a worker came before it was listed, of each of its ranks", () => {
    const { feed, list, hear, asks, counts } = tableWith();
    const source = new FakeSource("w", 4);
    hear(source.change(stored(1)), 0);
    hear(source.change(stored(2)), 1);
    hear(source.change(stored(3)), 1);
    expect(feed).toEqual([]);
    expect(counts.unlisted).toBe(3);

    list("w", 4);

    expect(feed).toEqual(["reached w/4.0 1", "reached w/4.1 3"]);
    expect(asks).toEqual([]);
  });

  it("owes what the bus did not take, and says it when the bus is back", () => {
    const { table, feed, list, bus } = tableWith();
    bus.isUp = false;
    table.lose(list("w"), "final");
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
    table.lose(list("w"), "final");
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
