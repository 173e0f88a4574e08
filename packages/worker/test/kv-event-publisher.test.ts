import {
  type KvEvent,
  KvEvents,
  namespaceName,
  Subjects,
  unpackKvEvents,
  workerId,
} from "@baton/protocol";
import { VirtualClock } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { batchesKept, KvEventPublisher, pageBlocks } from "../src/kv-event-publisher.ts";
import { recordingPublisher } from "./support/recording-publisher.ts";
import { model } from "./support/worker-cluster.ts";

const removed = (n: number): KvEvent => ({
  kind: "removed",
  sequenceHashes: Uint8Array.of(n & 255, n >> 8, 0, 0, 0, 0, 0, 0),
});

/** A run of blocks `first` to `first + count - 1`. */
function run(first: number, count: number): KvEvent {
  const sequenceHashes = new Uint8Array(8 * count);
  const view = new DataView(sequenceHashes.buffer);
  for (let at = 0; at < count; at++) view.setUint32(8 * at, first + at, true);
  return { kind: "stored", parent: null, blockHashes: sequenceHashes, sequenceHashes };
}

function create(dump: readonly KvEvent[] = [], storesTwice = false, intervalMs = 0) {
  const clock = new VirtualClock();
  const recorded = recordingPublisher();
  const events = new KvEventPublisher(5, {
    workerId: workerId("w-1"),
    model,
    subjects: new Subjects(namespaceName("test")),
    publisher: recorded.publisher,
    clock,
    intervalMs,
    dump: () => dump,
    storesTwice,
  });
  return {
    ...recorded,
    clock,
    events,
    sent: () => recorded.sent.map(({ payload }) => KvEvents.decode(payload)),
  };
}

describe("KvEventPublisher", () => {
  it("numbers the batches of each rank from 1, and sends no empty one", () => {
    const { events, sent } = create();
    events.publish(0, [removed(1), removed(2)]);
    events.publish(1, [removed(3)]);
    events.publish(0, []);
    events.publish(0, [removed(4)]);

    expect(sent().map((batch) => [batch.dpRank, batch.sequence])).toEqual([
      [0, 1],
      [1, 1],
      [0, 2],
    ]);
    expect(unpackKvEvents(sent()[0]?.events ?? new Uint8Array())).toEqual([removed(1), removed(2)]);
  });

  it("knows the newest batch of each rank that has sent one", () => {
    const { events } = create();
    events.history({ dpRank: 2, from: null, dump: null, page: 0 });
    events.publish(0, [removed(1)]);
    events.publish(1, [removed(2)]);
    events.publish(0, [removed(3)]);

    expect(events.newest()).toEqual([
      { dpRank: 0, sequence: 2 },
      { dpRank: 1, sequence: 1 },
    ]);
    events.restart(6, 3);
    expect(events.newest()).toEqual([]);
  });

  it("sends the first change at once, and those that follow too soon together when their time has come", async () => {
    const { clock, events, sent } = create([], false, 5);
    for (const n of [1, 2, 3]) {
      events.publish(0, [removed(n)]);
      await clock.advanceBy(1);
    }
    events.publish(1, [removed(4)]);
    await clock.advanceBy(10);
    events.publish(0, [removed(5)]);

    const told = sent().map(({ dpRank, sequence, events: body }) => [
      dpRank,
      sequence,
      unpackKvEvents(body),
    ]);
    expect(told).toEqual([
      [0, 1, [removed(1)]],
      [1, 1, [removed(4)]],
      [0, 2, [removed(2), removed(3)]],
      [0, 3, [removed(5)]],
    ]);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    [
      "asked",
      (events: KvEventPublisher) => {
        const ask = { dpRank: 0, from: null, dump: null, page: 0 };
        expect(events.history(ask)).toMatchObject({ kind: "dump", lastSequence: 2 });
      },
    ],
    ["repeating", (events: KvEventPublisher) => events.repeatNewest()],
    ["starting anew", (events: KvEventPublisher) => events.restart(6, 1)],
    ["ending", (events: KvEventPublisher) => events.flush()],
  ])("numbers what waits before %s", (_, act) => {
    const { events, sent } = create([], false, 5);
    events.publish(0, [removed(1)]);
    events.publish(0, [removed(2)]);

    act(events);

    expect(unpackKvEvents(sent()[1]?.events ?? new Uint8Array())[0]).toEqual(removed(2));
  });

  it("repeats the newest batch of each rank, so that a gap at the end is seen", () => {
    const { events, link, sent } = create();
    events.publish(0, [removed(1)]);
    events.publish(1, [removed(2)]);
    link.isUp = false;
    events.publish(1, [removed(3)]);
    link.isUp = true;

    events.repeatNewest();

    expect(sent().map((batch) => [batch.dpRank, batch.sequence])).toEqual([
      [0, 1],
      [1, 1],
      [0, 1],
      [1, 2],
    ]);
    expect(unpackKvEvents(sent()[3]?.events ?? new Uint8Array())).toEqual([removed(3)]);
  });

  it("answers with batches as long as it has them all, else with a dump", () => {
    const { events, link } = create([removed(9)]);
    const count = batchesKept + 5;
    for (let n = 1; n <= count; n++) {
      link.isUp = n % 3 !== 0;
      events.publish(0, [removed(n)]);
    }
    const history = (from: number | null) =>
      events.history({ dpRank: 0, from, dump: null, page: 0 });

    expect(history(6).bodies).toHaveLength(batchesKept);
    expect(unpackKvEvents(history(6).bodies[0] ?? new Uint8Array())).toEqual([removed(6)]);
    expect(history(count)).toMatchObject({ kind: "batches", lastSequence: count });
    expect(history(count + 1)).toMatchObject({ kind: "batches", bodies: [] });
    for (const from of [null, 0, 5, count + 2]) {
      expect(history(from)).toMatchObject({ kind: "dump", lastSequence: count });
    }
    expect(unpackKvEvents(history(null).bodies[0] ?? new Uint8Array())).toEqual([removed(9)]);
  });

  it("answers with a dump page by page, as it was when it was begun", () => {
    const blocks = 2 * pageBlocks + 5;
    const { events } = create([run(0, blocks)]);
    events.publish(0, [removed(1)]);
    const ask = (dump: number | null, page: number) =>
      events.history({ dpRank: 0, from: null, dump, page });

    const first = ask(null, 0);
    events.publish(0, [removed(2)]);
    const rest = [ask(1, 1), ask(1, 2)];

    expect(
      [first, ...rest].map(({ lastSequence, page, next }) => [lastSequence, page, next]),
    ).toEqual([
      [1, 0, 1],
      [1, 1, 2],
      [1, 2, null],
    ]);
    const bodies = [first, ...rest].flatMap((page) => page.bodies);
    const sizes = bodies.map((body) =>
      unpackKvEvents(body).map(
        (event) => "sequenceHashes" in event && event.sequenceHashes.byteLength / 8,
      ),
    );
    expect(sizes).toEqual([[pageBlocks], [pageBlocks], [5]]);
    const again = ask(1, 2);
    expect(again).toMatchObject({ lastSequence: 2, page: 0, next: 1 });
  });

  it("forgets the pages of a dump when its batches have left the ring", () => {
    const { events } = create([run(0, pageBlocks + 1)]);
    events.publish(0, [removed(1)]);
    events.history({ dpRank: 0, from: null, dump: null, page: 0 });
    for (let n = 0; n <= batchesKept; n++) events.publish(0, [removed(n)]);

    expect(events.history({ dpRank: 0, from: null, dump: 1, page: 1 })).toMatchObject({
      lastSequence: batchesKept + 2,
      page: 0,
    });
  });

  it("answers with no more batches than fit, and says where to go on", () => {
    const { events } = create();
    for (let n = 1; n <= 10; n++) events.publish(0, [run(n * 100_000, 4_096)]);
    const ask = (from: number) => events.history({ dpRank: 0, from, dump: null, page: 0 });

    const answers = [ask(1)];
    for (let next = answers[0]?.next; typeof next === "number"; next = answers.at(-1)?.next) {
      answers.push(ask(next));
    }

    expect(answers.length).toBeGreaterThan(2);
    expect(answers.flatMap(({ bodies }) => bodies)).toHaveLength(10);
    expect(answers.at(-1)).toMatchObject({ lastSequence: 10, next: null });
  });

  it("counts references for an engine that stores twice, in batches and in dumps", () => {
    const { events, sent } = create([run(1, 3), run(2, 3)], true);
    events.publish(0, [run(1, 3)]);
    events.publish(0, [run(1, 3)]);
    events.publish(0, [removed(2)]);
    events.publish(0, [removed(2)]);

    expect(sent().map((batch) => unpackKvEvents(batch.events))).toEqual([
      [run(1, 3)],
      [removed(2)],
    ]);
    const dump = events.history({ dpRank: 0, from: null, dump: null, page: 0 });
    const told = unpackKvEvents(dump.bodies[0] ?? new Uint8Array());
    expect(told).toHaveLength(2);
    expect(told[1]).toMatchObject({ sequenceHashes: new Uint8Array([4, 0, 0, 0, 0, 0, 0, 0]) });
  });

  it("answers for a rank that has told nothing", () => {
    const { events } = create();

    expect(events.history({ dpRank: 0, from: 1, dump: null, page: 0 })).toMatchObject({
      kind: "batches",
      lastSequence: 0,
      bodies: [],
    });
  });

  it("clears every rank under the old generation, then counts anew", () => {
    const { events, sent } = create();
    events.publish(0, [removed(1)]);
    events.restart(6, 2);
    events.publish(0, [removed(2)]);

    expect(sent().map((batch) => [batch.generation, batch.dpRank, batch.sequence])).toEqual([
      [5, 0, 1],
      [5, 0, 2],
      [5, 1, 1],
      [6, 0, 1],
    ]);
    expect(unpackKvEvents(sent()[2]?.events ?? new Uint8Array())).toEqual([{ kind: "cleared" }]);
  });
});
