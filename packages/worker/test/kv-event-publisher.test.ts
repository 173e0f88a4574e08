import {
  type KvEvent,
  KvEvents,
  namespaceName,
  Subjects,
  unpackKvEvents,
  workerId,
} from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { batchesKept, KvEventPublisher } from "../src/kv-event-publisher.ts";
import { recordingPublisher } from "./support/recording-publisher.ts";
import { model } from "./support/worker-cluster.ts";

const removed = (n: number): KvEvent => ({
  kind: "removed",
  sequenceHashes: Uint8Array.of(n & 255, n >> 8, 0, 0, 0, 0, 0, 0),
});

function create(dump: readonly KvEvent[] = []) {
  const recorded = recordingPublisher();
  const events = new KvEventPublisher(5, {
    workerId: workerId("w-1"),
    model,
    subjects: new Subjects(namespaceName("test")),
    publisher: recorded.publisher,
    dump: () => dump,
  });
  return {
    ...recorded,
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
    const history = (from: number | null) => events.history({ dpRank: 0, from });

    expect(history(6).bodies).toHaveLength(batchesKept);
    expect(unpackKvEvents(history(6).bodies[0] ?? new Uint8Array())).toEqual([removed(6)]);
    expect(history(count)).toMatchObject({ kind: "batches", lastSequence: count });
    expect(history(count + 1)).toMatchObject({ kind: "batches", bodies: [] });
    for (const from of [null, 0, 5, count + 2]) {
      expect(history(from)).toMatchObject({ kind: "dump", lastSequence: count });
    }
    expect(unpackKvEvents(history(null).bodies[0] ?? new Uint8Array())).toEqual([removed(9)]);
  });

  it("answers for a rank that has told nothing", () => {
    const { events } = create();

    expect(events.history({ dpRank: 0, from: 1 })).toMatchObject({
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
