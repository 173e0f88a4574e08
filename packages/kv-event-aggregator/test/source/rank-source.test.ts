import { type KvHistory, workerId } from "@baton/protocol";
import { ManualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { RankSource, type SourceCounts } from "../../src/source/rank-source.ts";

const noCounts = (): SourceCounts => ({
  repeats: 0,
  gaps: 0,
  recovered: 0,
  failedAsks: 0,
  holes: 0,
  overflows: 0,
});
const body = (sequence: number) => Uint8Array.of(sequence);

interface Ask {
  readonly from: number | null;
  readonly done: (answer: KvHistory | null) => void;
}

function sourceWith(options: { readonly bufferedBatches?: number } = {}) {
  const clock = new ManualClock();
  const counts = noCounts();
  const feed: string[] = [];
  const bodies: Uint8Array[] = [];
  const asks: Ask[] = [];
  const bus = { isUp: true };
  const source = new RankSource(
    { attempts: 3, firstBackoffMs: 200, maxBackoffMs: 5_000, bufferedBatches: 8, ...options },
    {
      clock,
      counts,
      emit: (kind, sequence, events) => {
        if (!bus.isUp) return false;
        feed.push(`${kind} ${sequence}`);
        bodies.push(events);
        return true;
      },
      ask: (from, done) => asks.push({ from, done }),
    },
  );
  const hear = (...sequences: number[]) => {
    for (const sequence of sequences) source.batch(sequence, body(sequence));
  };
  return { source, clock, counts, feed, bodies, asks, bus, hear };
}

function history(
  kind: KvHistory["kind"],
  lastSequence: number,
  bodies: number,
  next: number | null = null,
): KvHistory {
  return {
    page: 0,
    next,
    workerId: workerId("w"),
    generation: 1,
    dpRank: 0,
    lastSequence,
    kind,
    bodies: Array.from({ length: bodies }, (_, index) => body(lastSequence - bodies + 1 + index)),
  };
}

describe("RankSource", () => {
  it("relays batches in order and drops repeats", () => {
    const { feed, hear, counts, asks } = sourceWith();

    hear(1, 2, 2, 1, 3);

    expect(feed).toEqual(["batch 1", "batch 2", "batch 3"]);
    expect(counts.repeats).toBe(2);
    expect(asks).toEqual([]);
  });

  it("asks once for a missing range, keeps what comes meanwhile, and goes on in order", () => {
    const { feed, hear, asks, counts, source } = sourceWith();
    hear(1, 2, 5, 6);

    expect(asks.map(({ from }) => from)).toEqual([3]);
    expect(feed).toEqual(["batch 1", "batch 2"]);
    asks[0]?.done(history("batches", 5, 3));

    expect(feed.slice(2)).toEqual(["batch 3", "batch 4", "batch 5", "batch 6"]);
    expect(source.state).toBe("following");
    expect(counts).toMatchObject({ gaps: 1, recovered: 1, holes: 0 });
    expect(asks.length).toBe(1);
  });

  it("says how far the worker is when it has the range no more: who needs it asks", () => {
    const { feed, hear, asks, source } = sourceWith();
    hear(1, 9, 10);

    asks[0]?.done(history("dump", 9, 1));

    expect(feed).toEqual(["batch 1", "reached 9", "batch 10"]);
    expect(source.cursor).toBe(10);
  });

  it("relays the first batch that it hears, whatever its number", () => {
    const { feed, hear, asks } = sourceWith();

    hear(7, 8);

    expect(feed).toEqual(["batch 7", "batch 8"]);
    expect(asks).toEqual([]);
  });

  it("asks on where an answer ends that did not hold all", () => {
    const { feed, hear, asks, counts } = sourceWith();
    hear(1, 6);

    asks[0]?.done(history("batches", 3, 2, 4));
    expect(asks.map(({ from }) => from)).toEqual([2, 4]);
    asks[1]?.done(history("batches", 6, 3));

    expect(feed).toEqual([1, 2, 3, 4, 5, 6].map((sequence) => `batch ${sequence}`));
    expect(counts.failedAsks).toBe(0);
  });

  it("asks on after a check whose answer did not hold all", () => {
    const { source, hear, asks, feed } = sourceWith();
    hear(1);

    source.busRestored();
    asks[0]?.done(history("batches", 2, 1, 3));
    asks[1]?.done(history("batches", 3, 1));

    expect(feed).toEqual(["batch 1", "batch 2", "batch 3"]);
    expect(source.state).toBe("following");
  });

  it("starts another recovery for a gap that an answer leaves open", () => {
    const { feed, hear, asks, counts } = sourceWith();
    hear(1, 4, 9);

    asks[0]?.done(history("batches", 4, 3));
    expect(feed).toEqual(["batch 1", "batch 2", "batch 3", "batch 4"]);
    expect(asks.map(({ from }) => from)).toEqual([2, 5]);
    asks[1]?.done(history("batches", 9, 5));

    expect(feed.at(-1)).toBe("batch 9");
    expect(counts).toMatchObject({ gaps: 2, recovered: 2 });
  });

  it("does not take an answer that leaves something out", async () => {
    const { hear, asks, clock, feed } = sourceWith();
    hear(1, 9);

    asks[0]?.done(history("batches", 9, 2));
    await clock.advanceBy(200);
    expect(asks.map(({ from }) => from)).toEqual([2, 2]);
    asks[1]?.done(history("dump", 9, 1));

    expect(feed).toEqual(["batch 1", "reached 9"]);
  });

  it("does not take an answer that brings nothing, nor a dump that is older than the feed", async () => {
    const { hear, asks, clock, feed, counts } = sourceWith();
    hear(1, 2, 4);

    asks[0]?.done(history("batches", 2, 1));
    await clock.advanceBy(200);
    asks[1]?.done(history("dump", 1, 1));

    expect(feed).toEqual(["batch 1", "batch 2"]);
    expect(counts.failedAsks).toBe(2);
  });

  it("goes on with a counted hole after the last attempt: who follows sees it, and asks", async () => {
    const { source, hear, asks, clock, feed, counts } = sourceWith();
    hear(1, 4, 5, 7);
    for (const waitMs of [200, 400, 0]) {
      asks.at(-1)?.done(null);
      await clock.advanceBy(waitMs);
    }

    expect(source.state).toBe("following");
    expect(feed).toEqual(["batch 1", "batch 4", "batch 5", "batch 7"]);
    expect(counts).toMatchObject({ holes: 3, failedAsks: 3 });
    hear(8);

    expect(feed.at(-1)).toBe("batch 8");
    expect(asks.length).toBe(3);
  });

  it("keeps at most its limit of batches, and counts what it lets go", () => {
    const { source, hear, asks, counts, feed } = sourceWith({ bufferedBatches: 3 });
    hear(1, 3, 4, 5, 6, 7);

    expect(source.buffered).toBe(3);
    expect(counts.overflows).toBe(2);
    asks[0]?.done(history("batches", 4, 3));

    expect(feed.at(-1)).toBe("batch 7");
    expect(asks.length).toBe(1);
  });

  it("holds still while the worker is silent, and asks for what it missed when it is back", () => {
    const { source, hear, asks, feed } = sourceWith();
    hear(1, 2);
    source.hold();
    hear(3, 4);
    expect(feed).toEqual(["batch 1", "batch 2"]);

    source.resume();
    hear(5);
    expect(asks.map(({ from }) => from)).toEqual([3]);
    asks[0]?.done(history("batches", 4, 2));

    expect(feed.slice(2)).toEqual(["batch 3", "batch 4", "batch 5"]);
  });

  it("does not lose a batch that the bus did not take", async () => {
    const { source, hear, asks, feed, bus } = sourceWith();
    hear(1);
    bus.isUp = false;
    hear(2, 3);
    asks[0]?.done(null);
    bus.isUp = true;

    source.busRestored();
    expect(asks.map(({ from }) => from)).toEqual([2, 2]);
    asks[1]?.done(history("batches", 3, 2));

    expect(feed).toEqual(["batch 1", "batch 2", "batch 3"]);
  });

  it("checks with the worker after the bus was away", () => {
    const { source, hear, asks, feed } = sourceWith();
    hear(1);

    source.busRestored();
    asks[0]?.done(history("batches", 2, 1));

    expect(feed).toEqual(["batch 1", "batch 2"]);
  });

  it("emits nothing after it is closed, not even from an answer that is late", async () => {
    const { source, hear, asks, feed, clock } = sourceWith();
    hear(1, 4);

    source.close();
    asks[0]?.done(history("batches", 4, 3));
    hear(2, 3, 4, 5);
    source.resume();
    source.locate();
    source.reach(9);
    await clock.advanceBy(60_000);

    expect(feed).toEqual(["batch 1"]);
    expect(clock.pendingTimers).toBe(0);
    expect(source.buffered).toBe(0);
  });

  it("does not take the answer to an ask that was overtaken", () => {
    const { source, hear, asks, feed } = sourceWith();
    hear(1, 3);
    source.hold();
    source.resume();

    asks[0]?.done(null);
    expect(source.state).toBe("asking");
    asks[1]?.done(history("batches", 3, 2));

    expect(feed).toEqual(["batch 1", "batch 2", "batch 3"]);
  });

  it("says how far a worker is of which nothing was heard", () => {
    const { source, asks, feed, hear } = sourceWith();

    source.locate();
    expect(asks.map(({ from }) => from)).toEqual([null]);
    asks[0]?.done(history("dump", 5, 1));
    hear(6);

    expect(feed).toEqual(["reached 5", "batch 6"]);
  });

  it("tells of batches that went by unheard, and asks the worker if the bus does not take that", () => {
    const { source, asks, feed } = sourceWith();
    source.reach(4);
    source.reach(3);
    expect(feed).toEqual(["reached 4"]);

    const other = sourceWith();
    other.bus.isUp = false;
    other.source.reach(6);
    other.bus.isUp = true;
    other.asks[0]?.done(history("dump", 6, 1));

    expect(asks).toEqual([]);
    expect(other.asks.map(({ from }) => from)).toEqual([null]);
    expect(other.feed).toEqual(["reached 6"]);
  });

  it("asks for what it has not heard of the batches that the worker says it has sent, once", () => {
    const { source, asks, feed, hear, counts } = sourceWith();
    hear(1);
    source.reach(1);
    expect(asks).toEqual([]);

    source.reach(3);
    source.reach(3);
    expect(asks.map(({ from }) => from)).toEqual([2]);
    asks[0]?.done(history("batches", 3, 2));
    hear(4);

    expect(feed).toEqual(["batch 1", "batch 2", "batch 3", "batch 4"]);
    expect(counts.gaps).toBe(1);
  });

  it("asks again after an answer that says nothing", async () => {
    const { hear, asks, clock, feed } = sourceWith();
    hear(1, 3);

    asks[0]?.done(history("none", 0, 0));
    await clock.advanceBy(200);
    asks[1]?.done(history("batches", 3, 2));

    expect(feed).toEqual(["batch 1", "batch 2", "batch 3"]);
  });
});
