import { workerId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { applierWith, range, stored } from "./feed-support.ts";

describe("FeedApplier, epochs and positions", () => {
  it("wants positions at first, and has them from then on", () => {
    const { applier, positions } = applierWith();
    expect(applier.wantsPositions).toBe(true);
    expect(applier.synced).toBe(false);

    positions({});

    expect(applier.wantsPositions).toBe(false);
    expect(applier.synced).toBe(true);
  });

  it("brings up what the positions list, and takes the feed meanwhile", () => {
    const { answer, applier, batch, dump, held, positions, work } = applierWith();
    batch(8, [stored(7, 8)]);
    positions({ w: 8 });
    expect(held()).toEqual([]);
    batch(9, [stored(8, 9)]);

    const asked = answer(dump(7, stored(null, ...range(1, 7))));
    work();

    expect(asked).toMatchObject({ from: null, atLeast: 7 });
    expect(held()).toEqual(range(1, 9));
    expect(applier.synced).toBe(true);
  });

  it("asks nobody about a rank that is where its position says", () => {
    const { asks, batch, positions } = applierWith();
    batch(1, [stored(null, 1)]);

    positions({ w: 1 });

    expect(asks()).toEqual([]);
  });

  it("asks once an epoch about a rank of which the feed has told nothing", () => {
    const { answer, asks, batch, batches, positions } = applierWith();
    batch(1, [stored(null, 1)]);

    positions({ w: null });
    expect(answer(batches(1))).toMatchObject({ from: 2 });
    positions({ w: null });
    expect(asks()).toEqual([]);
    positions({ w: null }, { epoch: 2, feedSequence: 0 });

    expect(asks()).toHaveLength(1);
  });

  it("wants positions after an entry was missed, and takes what came after it", () => {
    const { applier, batch, held, positions } = applierWith();
    positions({ w: 0 });
    batch(1, [stored(null, 1)], { feedSequence: 1 });
    batch(2, [stored(1, 2)], { feedSequence: 3 });

    expect(applier.wantsPositions).toBe(true);
    expect(applier.counts.feedGaps).toBe(1);
    expect(held()).toEqual([1, 2]);
  });

  it("keeps what it has when another aggregator speaks, and compares", () => {
    const { answer, applier, asks, batch, batches, held, positions, work } = applierWith();
    positions({ w: 0, v: 0 });
    batch(1, [stored(null, 1)]);
    batch(1, [stored(null, 1)], { workerId: workerId("v") });

    batch(3, [stored(2, 3)], { epoch: 2, feedSequence: 1 });
    expect(applier.wantsPositions).toBe(true);
    expect(held()).toEqual([1]);
    expect(answer(batches(2, [stored(1, 2)]))).toMatchObject({ from: 2 });
    work();
    positions({ w: 3, v: 1 }, { epoch: 2, feedSequence: 1 });

    expect(held()).toEqual([1, 2, 3]);
    expect(held("v")).toEqual([1]);
    expect(asks()).toEqual([]);
  });

  it("drops an entry of an aggregator that speaks no more, unless its positions show that it does", () => {
    const { applier, batch, held, positions } = applierWith();
    positions({ w: 0 }, { epoch: 5, feedSequence: 0 });
    batch(1, [stored(null, 1)], { epoch: 4, feedSequence: 1 });
    expect(held()).toEqual([]);
    expect(applier.counts.staleEpochs).toBe(1);
    expect(applier.wantsPositions).toBe(true);

    positions({ w: 0 }, { epoch: 4, feedSequence: 1 });
    batch(1, [stored(null, 1)], { epoch: 4, feedSequence: 2 });

    expect(held()).toEqual([1]);
  });

  it("forgets what is not listed, unless it was heard of since", () => {
    const { batch, held, positions, slots, work } = applierWith();
    batch(1, [stored(null, 1)]);
    batch(1, [stored(null, 1)], { workerId: workerId("v") });

    positions({}, { feedSequence: 1 });
    work();

    expect(held("w")).toBeNull();
    expect(held("v")).toEqual([1]);
    expect(slots.size).toBe(1);
  });

  it("is synced when what was there at the start is in, or could not be", () => {
    const { answer, applier, dump, positions, work } = applierWith({ maxAsks: 1 });
    positions({ w: 3, v: 3 });
    expect(applier.synced).toBe(false);
    answer(dump(3, stored(null, 1)));
    work();
    expect(applier.synced).toBe(false);

    answer(null);

    expect(applier.synced).toBe(true);
  });
});

describe("FeedApplier, generations", () => {
  it("forgets a generation that is gone, and takes nothing of it any more", () => {
    const { applier, batch, held, say, slots, work } = applierWith();
    batch(1, [stored(null, 1)]);
    say("gone");
    batch(2, [stored(1, 2)]);
    say("reached", 9);
    work();

    expect(held()).toBeNull();
    expect(slots.size).toBe(0);
    expect(applier.ranks).toBe(0);
    expect(applier.counts.fenced).toBe(2);
  });

  it("lets a later generation take the place of an earlier one, of which nothing counts then", () => {
    const { applier, batch, held, work } = applierWith();
    batch(1, [stored(null, 1)]);
    batch(1, [stored(null, 7)], { generation: 2 });
    batch(2, [stored(1, 2)]);
    work();

    expect(held("w", 1)).toBeNull();
    expect(held("w", 2)).toEqual([7]);
    expect(applier.counts.fenced).toBe(1);
  });

  it("takes a generation back that lives after all", () => {
    const { answer, batch, dump, held, say, work } = applierWith();
    batch(1, [stored(null, 1)]);
    say("gone");
    say("back");
    say("reached", 2);

    answer(dump(2, stored(null, 1, 2)));
    work();

    expect(held()).toEqual([1, 2]);
  });

  it("takes a generation back that is listed, unless it was gone later than the list was made", () => {
    const { asks, batch, held, positions, say } = applierWith();
    batch(1, [stored(null, 1)]);
    say("gone");
    positions({ w: 1 }, { feedSequence: 1 });
    expect(held()).toBeNull();

    positions({ w: 1 }, { feedSequence: 2 });

    expect(held()).toEqual([]);
    expect(asks()).toHaveLength(1);
  });

  it("hears a generation of a later aggregator that an earlier one gave up, and never one before it", () => {
    const { batch, held, say } = applierWith();
    batch(1, [stored(null, 1)], { generation: 2 });
    say("gone", 0, { generation: 2 });

    batch(1, [stored(null, 1)], { generation: 1, epoch: 2, feedSequence: 1 });
    batch(1, [stored(null, 1)], { generation: 2, epoch: 2, feedSequence: 2 });

    expect(held("w", 1)).toBeNull();
    expect(held("w", 2)).toEqual([1]);
  });

  it("does not let a gone that came late undo what was said after it", () => {
    const { batch, held, say } = applierWith();
    say("back", 0, { feedSequence: 5 });
    say("gone", 0, { feedSequence: 4 });
    batch(1, [stored(null, 1)], { feedSequence: 6 });
    say("gone", 0, { feedSequence: 3 });

    expect(held()).toEqual([1]);
  });

  it("gives the slot of a rank that is gone to another only when nothing of it is left", () => {
    const { batch, say, slots, work } = applierWith();
    const slotOf = (id: string) =>
      slots.slotOf({ workerId: workerId(id), generation: 1, dpRank: 0 });
    batch(1, [stored(null, ...range(1, 50))]);
    const first = slotOf("w");
    say("gone");

    batch(1, [stored(null, 1)], { workerId: workerId("v") });
    expect(slotOf("v")).not.toBe(first);
    work();
    batch(1, [stored(null, 1)], { workerId: workerId("x") });

    expect(slotOf("x")).toBe(first);
  });
});

describe("FeedApplier, who is followed", () => {
  it("keeps nothing of a worker that is not wanted", () => {
    const { applier, batch, held, positions, asks } = applierWith({ unwanted: new Set(["w"]) });
    batch(1, [stored(null, 1)]);
    positions({ w: 1 });

    expect(held()).toBeNull();
    expect(asks()).toEqual([]);
    expect(applier.counts.unwanted).toBe(2);
  });

  it("lets go of a worker when the catalog tells that it is not wanted", () => {
    const { applier, batch, held, unwanted, work } = applierWith();
    batch(1, [stored(null, 1)]);
    unwanted.add("w");

    applier.reviewWants();
    work();

    expect(held()).toBeNull();
    expect(applier.ranks).toBe(0);
  });

  it("follows no more ranks than it may", () => {
    const { applier, batch } = applierWith({ maxRanks: 2 });
    for (const id of ["a", "b", "c"]) batch(1, [stored(null, 1)], { workerId: workerId(id) });

    expect(applier.ranks).toBe(2);
    expect(applier.counts.refused).toBe(1);
  });

  it("has no more asks under way than it may, and asks the next when one is answered", () => {
    const { applier, asks, positions, clock } = applierWith({ maxAsks: 2 });
    positions({ a: 1, b: 1, c: 1 });

    const first = asks();
    expect(first.map(({ question }) => question.workerId)).toEqual(["a", "b"]);
    expect(asks()).toEqual([]);
    expect(applier.nextAskAtMs).toBeNull();
    const answered = first[0];
    if (answered !== undefined) applier.takeHistory(answered, null, clock.nowMs);

    expect(asks().map(({ question }) => question.workerId)).toEqual(["c"]);
  });

  it("takes no answer of another rank for the one that was meant", () => {
    const { answer, applier, dump, held, positions, work } = applierWith();
    positions({ w: 1 });
    answer({ ...dump(1, stored(null, 1)), workerId: workerId("v") });
    work();

    expect(held()).toEqual([]);
    expect(applier.counts.failedAsks).toBe(1);
  });

  it("asks again later after a failure, and at once when it is told to", () => {
    const { answer, applier, asks, clock, positions } = applierWith();
    positions({ w: 1 });
    answer(null);
    expect(asks()).toEqual([]);
    expect(applier.nextAskAtMs).toBe(200);

    applier.retryNow(clock.nowMs);

    expect(asks()).toHaveLength(1);
  });

  it("is idle when nothing is left to do", () => {
    const { answer, applier, batch, dump, positions, work } = applierWith();
    positions({ w: 2 });
    expect(applier.isIdle).toBe(false);
    answer(dump(2, stored(null, 1)));
    work();
    batch(3, [stored(1, 2)]);

    expect(applier.isIdle).toBe(true);
    expect([applier.waiting, applier.recovering]).toEqual([0, 0]);
  });
});
