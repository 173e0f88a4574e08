import { type KvEvent, packKvEvents } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { applierWith, hashes, range, removed, stored } from "./feed-support.ts";

describe("FeedRank, batches", () => {
  it("applies batches in order, each once", () => {
    const { applier, batch, held } = applierWith();
    batch(1, [stored(null, 1, 2, 3)]);
    batch(2, [removed(3), stored(2, 4)]);
    batch(2, [removed(2)]);
    batch(1, [stored(null, 9)]);

    expect(held()).toEqual([1, 2, 4]);
    expect(applier.counts).toMatchObject({ batches: 2, repeats: 2, rankGaps: 0 });
  });

  it("keeps tiers apart, and clears them together", () => {
    const { batch, index, slots, work } = applierWith();
    const onHost: KvEvent = { ...stored(1, 2), kind: "stored", tier: "host" } as KvEvent;
    batch(1, [stored(null, 1), onHost]);
    const slot = slots.slotOf({ workerId: "w" as never, generation: 1, dpRank: 0 }) ?? -1;
    expect(index.blocksOf(slot, "device")).toEqual(hashes(1));
    expect(index.blocksOf(slot, "host")).toEqual(hashes(2));

    batch(2, [{ kind: "cleared" }, stored(null, 5)]);
    work();

    expect(index.blocksOf(slot, "device")).toEqual(hashes(5));
    expect(index.blocksOf(slot, "host").byteLength).toBe(0);
  });

  it("clears its own rank only", () => {
    const { batch, held } = applierWith();
    batch(1, [stored(null, 1)]);
    batch(1, [stored(null, 2)], { workerId: "v" as never });
    batch(2, [{ kind: "cleared" }]);

    expect(held()).toEqual([]);
    expect(held("v")).toEqual([2]);
  });

  it("applies a large batch in steps, and those behind it in their turn", () => {
    const { applier, batch, held, work } = applierWith({ inlineBytes: 400 });
    batch(1, [stored(null, ...range(1, 100))]);
    batch(2, [stored(100, 101)]);
    expect(held()).toEqual([]);

    expect(applier.step(10)).toBe(false);
    expect(held()).toEqual(range(1, 10));
    work(10);

    expect(held()).toEqual(range(1, 101));
  });

  it("lets go of what a line that is too long cannot take, and asks for it when the line has ended", () => {
    const { answer, applier, batch, batches, held, work } = applierWith({
      inlineBytes: 0,
      bufferedBatches: 2,
    });
    for (const sequence of range(1, 4)) {
      batch(sequence, [stored(sequence === 1 ? null : sequence - 1, sequence)]);
    }
    expect(applier.counts.overflows).toBeGreaterThan(0);
    work();

    const question = answer(batches(4, [stored(2, 3)], [stored(3, 4)]));
    work();

    expect(question.from).toBe(3);
    expect(held()).toEqual([1, 2, 3, 4]);
  });
});

describe("FeedRank, recovery", () => {
  it("asks once for a gap, keeps what it has, and goes on in order", () => {
    const { answer, applier, asks, batch, batches, held, work } = applierWith();
    batch(1, [stored(null, 1)]);
    batch(4, [stored(3, 4)]);
    batch(5, [stored(4, 5)]);
    expect(held()).toEqual([1]);

    const question = answer(batches(4, [stored(1, 2)], [stored(2, 3)], [stored(3, 4)]));
    work();

    expect(question).toMatchObject({ from: 2, dump: null });
    expect(held()).toEqual([1, 2, 3, 4, 5]);
    expect(applier.counts).toMatchObject({ rankGaps: 1, recovered: 1 });
    expect(asks()).toEqual([]);
  });

  it("asks on where an answer ends, when that part is applied", () => {
    const { answer, asks, batch, batches, held, work } = applierWith();
    batch(1, [stored(null, 1)]);
    batch(4, [stored(3, 4)]);

    answer({ ...batches(2, [stored(1, 2)]), next: 3 });
    expect(asks()).toEqual([]);
    work();
    const question = answer(batches(3, [stored(2, 3)]));
    work();

    expect(question.from).toBe(3);
    expect(held()).toEqual([1, 2, 3, 4]);
  });

  it("asks for what a `reached` says it lacks", () => {
    const { answer, asks, batch, batches, held, say, work } = applierWith();
    batch(1, [stored(null, 1)]);
    say("reached", 1);
    expect(asks()).toEqual([]);

    say("reached", 2);
    answer(batches(2, [stored(1, 2)]));
    work();

    expect(held()).toEqual([1, 2]);
  });

  it("needs nobody for a rank that has told nothing yet", () => {
    const { asks, batch, held, say } = applierWith();
    say("reached", 0);
    batch(1, [stored(null, 1)]);

    expect(asks()).toEqual([]);
    expect(held()).toEqual([1]);
  });

  it("waits longer after each answer that does not help, up to its limit", () => {
    const { answer, applier, batch, batches, clock } = applierWith({ maxBackoffMs: 500 });
    batch(1, [stored(null, 1)]);
    batch(4, [stored(3, 4)]);
    const waits: number[] = [];
    for (const useless of [
      null,
      batches(1),
      { kind: "none" } as const,
      batches(4, [stored(3, 4)]),
    ]) {
      answer(useless);
      waits.push((applier.nextAskAtMs ?? 0) - clock.nowMs);
      clock.nowMs = applier.nextAskAtMs ?? 0;
    }

    expect(waits).toEqual([200, 400, 500, 500]);
    expect(applier.counts.failedAsks).toBe(4);
  });

  it("keeps at most its limit of batches that wait, and gets back what it let go", () => {
    const { answer, applier, asks, batch, batches, held, work } = applierWith({
      bufferedBatches: 2,
    });
    batch(1, [stored(null, 1)]);
    for (const sequence of range(3, 6)) batch(sequence, [stored(sequence - 1, sequence)]);
    expect(applier.waiting).toBe(2);
    expect(applier.counts.overflows).toBe(2);

    answer(batches(3, [stored(1, 2)], [stored(2, 3)]));
    work();
    answer(batches(5, [stored(3, 4)], [stored(4, 5)]));
    work();

    expect(held()).toEqual(range(1, 6));
    expect(asks()).toEqual([]);
  });
});

describe("FeedRank, dumps", () => {
  it("loads a dump aside, page by page, and swaps it in at once", () => {
    const { answer, applier, batch, dump, held, work } = applierWith();
    batch(1, [stored(null, 1, 2, 3)]);
    batch(9, [stored(6, 9)]);

    answer({ ...dump(8, stored(null, 5)), next: 1 });
    work();
    expect(held()).toEqual([1, 2, 3]);
    const second = answer({ ...dump(8, stored(5, 6)), page: 1 });
    expect(held()).toEqual([1, 2, 3]);
    work();

    expect(second).toMatchObject({ from: null, dump: 8, page: 1 });
    expect(held()).toEqual([5, 6, 9]);
    expect(applier.counts.dumps).toBe(1);
  });

  it("begins anew when the worker has the dump no more", () => {
    const { answer, batch, dump, held, work } = applierWith();
    batch(3, [stored(2, 3)]);

    answer({ ...dump(2, stored(null, 7)), next: 1 });
    work();
    answer({ ...dump(4, stored(null, 1)), next: 1 });
    work();
    answer({ ...dump(4, stored(1, 2)), page: 1 });
    work();

    expect(held()).toEqual([1, 2]);
  });

  it("asks for a page again, and for the whole if it comes out of turn", () => {
    const { answer, batch, clock, dump, held, work } = applierWith();
    batch(3, [stored(2, 3)]);
    answer({ ...dump(3, stored(null, 1)), next: 1 });
    work();
    answer(null);
    clock.nowMs += 1_000;
    expect(answer({ ...dump(3, stored(1, 2)), page: 2 })).toMatchObject({ dump: 3, page: 1 });
    clock.nowMs += 1_000;

    expect(answer(dump(3, stored(null, 1, 2, 3)))).toMatchObject({ dump: null, page: 0 });
    work();

    expect(held()).toEqual([1, 2, 3]);
  });

  it("takes no dump that is older than what it knows", () => {
    const { answer, applier, batch, dump, held, work } = applierWith();
    for (const sequence of range(1, 3)) {
      batch(sequence, [stored(sequence === 1 ? null : sequence - 1, sequence)]);
    }
    batch(9, [stored(8, 9)]);

    answer(dump(2, stored(null, 1)));
    work();

    expect(held()).toEqual([1, 2, 3]);
    expect(applier.counts.failedAsks).toBe(1);
  });

  it("takes a dump without blocks for what it is", () => {
    const { answer, batch, dump, held, work } = applierWith();
    batch(1, [stored(null, 1)]);
    batch(9, [removed(1)]);

    answer(dump(9));
    work();

    expect(held()).toEqual([]);
  });

  it("lets go of a half-loaded dump when the generation is gone", () => {
    const { answer, batch, dump, held, index, say, work } = applierWith();
    batch(3, [stored(2, 3)]);
    answer({ ...dump(3, stored(null, 1, 2)), next: 1 });
    work();
    say("gone");
    work();

    expect(held()).toBeNull();
    expect(index.blocks).toBe(0);
  });

  it("lets go of a dump that cannot be read, and keeps what it has", () => {
    const { answer, applier, batch, held, work } = applierWith();
    batch(1, [stored(null, 1)]);
    batch(9, [stored(8, 9)]);

    answer({ kind: "dump", lastSequence: 9, bodies: [Uint8Array.of(0xc1)] });
    work();

    expect(held()).toEqual([1]);
    expect(applier.counts).toMatchObject({ malformed: 1, failedAsks: 1 });
  });
});

describe("FeedRank, what does not fit", () => {
  it.each([
    ["leads back to itself", 0, [stored(null, 1)]],
    ["says that there is more, but brings nothing", 1, []],
  ])("does not follow a dump whose page %s", (_what, next, events) => {
    const { answer, applier, asks, clock, dump, held, positions, work } = applierWith();
    positions({ w: 7 });
    for (let round = 0; round < 3; round++) {
      answer({ ...dump(7, ...events), next });
      work();
      expect(asks()).toEqual([]);
      clock.nowMs += 5_000;
    }
    expect(applier.counts.failedAsks).toBe(3);

    answer(dump(7, stored(null, 4)));
    work();
    expect(held()).toEqual([4]);
  });

  it("still reads the rank again when the recovery that came first ended short, and batches closed the rest", () => {
    const { answer, applier, asks, batch, batches, say, work } = applierWith({ inlineBytes: 0 });
    batch(1, [stored(null, 1)]);
    batch(2, [stored(99, 2)]);
    work();
    say("reached", 5);
    expect(answer(batches(4, [stored(1, 3)], [stored(3, 4)]))).toMatchObject({ from: 3 });
    batch(5, [stored(4, 5)]);
    work();

    expect(applier.counts.orphans).toBe(1);
    expect(asks().map(({ question }) => question.from)).toEqual([null]);
  });

  it("leaves out blocks without their parent, and asks once for a dump that mends it", () => {
    const { answer, applier, asks, batch, dump, held, work } = applierWith();
    batch(1, [stored(null, 1)]);
    batch(2, [stored(7, 8, 9), stored(7, 10)]);
    expect(held()).toEqual([1]);
    expect(applier.counts.orphans).toBe(3);

    const question = answer(dump(2, stored(null, 1), stored(null, 7, 8, 9)));
    work();

    expect(question).toMatchObject({ from: null, atLeast: 2 });
    expect(held()).toEqual([1, 7, 8, 9]);
    expect(applier.counts).toMatchObject({ resyncs: 1, dumps: 1 });
    expect(asks()).toEqual([]);
  });

  it("does not ask for one dump after the other", () => {
    const { answer, applier, batch, clock, dump, work } = applierWith();
    const asked: number[] = [];
    batch(1, [stored(null, 1)]);
    for (let sequence = 2; clock.nowMs < 300_000; sequence++) {
      batch(sequence, [stored(7, 8)]);
      if ((applier.nextAskAtMs ?? Number.POSITIVE_INFINITY) <= clock.nowMs) {
        answer(dump(sequence, stored(null, 1)));
        asked.push(clock.nowMs);
        work();
      }
      clock.nowMs += 500;
    }

    const waits = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
    expect(waits.slice(0, 7)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
    expect(waits.slice(7).every((wait) => wait >= 60_000)).toBe(true);
  });

  it("does not ask again because of what is an orphan in a dump", () => {
    const { answer, applier, asks, batch, dump, work } = applierWith();
    batch(3, [stored(null, 1)]);
    answer(dump(3, stored(7, 8)));
    work();

    expect(applier.counts).toMatchObject({ orphans: 1, resyncs: 0 });
    expect(asks()).toEqual([]);
  });

  it("leaves out an event of a tier that is not known, says so, and takes the others", () => {
    const { applier, batch, held, malformed, say } = applierWith();
    batch(1, [stored(null, 1)]);
    const known = packKvEvents([stored(null, 2)]);
    const body = Uint8Array.from([0x92, ...known.subarray(1), 0x93, 1, 0xc4, 8, ...hashes(1), 9]);
    say("batch", 2, { events: body });

    expect(held()).toEqual([1, 2]);
    expect(applier.counts.malformed).toBe(1);
    expect(malformed).toEqual(["w malformed_message"]);
  });

  it("passes over a batch that cannot be read, and mends it by a dump", () => {
    const { answer, applier, batch, dump, held, say, work } = applierWith();
    batch(1, [stored(null, 1)]);
    say("batch", 2, { events: Uint8Array.of(0xc1) });
    batch(3, [stored(1, 3)]);
    expect(held()).toEqual([1, 3]);
    expect(applier.counts.malformed).toBe(1);

    answer(dump(3, stored(null, 1, 2), stored(1, 3)));
    work();

    expect(held()).toEqual([1, 2, 3]);
  });

  it("passes over the removal of what it does not hold", () => {
    const { asks, batch, held } = applierWith();
    batch(1, [stored(null, 1, 2), removed(9, 2, 8)]);

    expect(held()).toEqual([1]);
    expect(asks()).toEqual([]);
  });
});
