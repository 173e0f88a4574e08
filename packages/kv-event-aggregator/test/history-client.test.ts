import { GetKvEvents, KvHistory, workerId } from "@baton/protocol";
import { memoryCluster } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { HistoryClient } from "../src/history-client.ts";
import { FakeSource, model, stored } from "./support/kv-world.ts";

function setUp(answering: FakeSource | null) {
  const cluster = memoryCluster();
  const { subjects } = cluster;
  const worker = cluster.bus("w1");
  const asked: GetKvEvents[] = [];
  if (answering !== null) {
    worker.subscribe(subjects.worker("get-kv-events", model, workerId("w1")), (message) => {
      const ask = GetKvEvents.decode(message.payload);
      asked.push(ask);
      message.respond(KvHistory.encode(answering.history(ask.from)));
    });
  }
  const client = new HistoryClient({
    bus: cluster.bus("agg"),
    subjects,
    timeoutMs: 500,
    concurrency: 2,
    maxWaiting: 10,
  });
  const ask = async (from: number | null) => {
    const answer = client.ask({
      model,
      workerId: workerId("w1"),
      generation: 3,
      dpRank: 0,
      from,
      dump: null,
      page: 0,
    });
    const settled = answer.then(
      (history) => ({ history }),
      (error: { readonly code: string }) => ({ code: error.code }),
    );
    await cluster.clock.advanceBy(1_000);
    return settled;
  };
  return { ask, asked };
}

describe("HistoryClient", () => {
  it("brings the batches or the dump that a worker answers with", async () => {
    const source = new FakeSource("w1", 3);
    source.change(stored(1));
    source.change(stored(2));
    const { ask, asked } = setUp(source);

    expect(await ask(2)).toMatchObject({ history: { kind: "batches", lastSequence: 2 } });
    expect(await ask(null)).toMatchObject({ history: { kind: "dump", lastSequence: 2 } });
    expect(asked).toEqual([
      { dpRank: 0, from: 2, dump: null, page: 0 },
      { dpRank: 0, from: null, dump: null, page: 0 },
    ]);
  });

  it("does not take another generation's answer for the one that was meant", async () => {
    const { ask } = setUp(new FakeSource("w1", 4));

    expect(await ask(null)).toEqual({ code: "worker_lost" });
  });

  it("says at once that nobody is there", async () => {
    const { ask } = setUp(null);

    expect(await ask(null)).toEqual({ code: "no_responders" });
  });
});
