import { KvFeed, type KvHistory, workerId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { type SnapshotTarget, takeSnapshot } from "../src/take-snapshot.ts";
import { FakeSource, model, stored } from "./support/kv-world.ts";

const target = (id: string): SnapshotTarget => ({
  model,
  workerId: workerId(id),
  generation: 1,
  dpRank: 0,
});

async function snapshotOf(
  answers: Readonly<Record<string, KvHistory | null>>,
  options: { readonly maxBytes?: number; readonly gone?: string } = {},
) {
  const missing: string[] = [];
  const snapshot = await takeSnapshot({
    epoch: 9,
    feedSequence: 40,
    maxBytes: options.maxBytes ?? 1_000_000,
    targets: Object.keys(answers).map(target),
    ask: ({ workerId: id, from }) => {
      const answer = answers[id];
      return answer && from === null ? Promise.resolve(answer) : Promise.reject(new Error("no"));
    },
    isGone: ({ workerId: id }) => id === options.gone,
    onMissing: ({ workerId: id }) => missing.push(id),
  });
  return { snapshot, missing, dumps: snapshot.dumps.map((bytes) => KvFeed.decode(bytes)) };
}

function sourceWith(id: string, blocks: number): FakeSource {
  const source = new FakeSource(id, 1);
  for (let block = 0; block < blocks; block++) source.change(stored(block));
  return source;
}

describe("takeSnapshot", () => {
  it("relays each worker's dump as an entry of the feed, from before anybody was asked", async () => {
    const { snapshot, dumps, missing } = await snapshotOf({
      w1: sourceWith("w1", 3).history(null),
      w2: sourceWith("w2", 1).history(null),
    });

    expect(snapshot).toMatchObject({ epoch: 9, feedSequence: 40 });
    expect(dumps).toMatchObject([
      { kind: "dump", workerId: "w1", generation: 1, dpRank: 0, sequence: 3, feedSequence: 40 },
      { kind: "dump", workerId: "w2", generation: 1, dpRank: 0, sequence: 1, feedSequence: 40 },
    ]);
    expect(missing).toEqual([]);
  });

  it("leaves out who does not answer, and sees to it that the dump comes on the feed", async () => {
    const { dumps, missing } = await snapshotOf({
      w1: null,
      w2: sourceWith("w2", 1).history(null),
    });

    expect(dumps.map((dump) => dump.workerId)).toEqual(["w2"]);
    expect(missing).toEqual(["w1"]);
  });

  it("says nothing of a generation that is gone by now", async () => {
    const { dumps, missing } = await snapshotOf(
      { w1: sourceWith("w1", 1).history(null) },
      { gone: "w1" },
    );

    expect(dumps).toEqual([]);
    expect(missing).toEqual([]);
  });

  it("stays within a message, and sends the rest on the feed", async () => {
    const { dumps, missing } = await snapshotOf(
      { w1: sourceWith("w1", 100).history(null), w2: sourceWith("w2", 1).history(null) },
      { maxBytes: 500 },
    );

    expect(dumps.map((dump) => dump.workerId)).toEqual(["w2"]);
    expect(missing).toEqual(["w1"]);
  });
});
