import { GetKvHistory, KvHistory, KvPositions, workerId } from "@baton/protocol";
import { memoryCluster, PlayedDiscovery } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { kvEventAggregator } from "../src/actor.ts";
import { FakeWorker } from "./support/fake-cluster.ts";
import { model, placesIn } from "./support/kv-world.ts";

async function setUp(maxHistoryAsks = 100) {
  const cluster = memoryCluster();
  const discovery = new PlayedDiscovery(cluster);
  const config = {
    bufferedBatches: 8,
    recoveryAttempts: 2,
    recoveryBackoffMs: 100,
    recoveryTimeoutMs: 200,
    recoveryConcurrency: 2,
    lostHoldMs: 1_000,
    maxSources: 10,
    maxHistoryAsks,
    dumpKeepMs: 1_000,
    dumpCacheBytes: 10_000,
  };
  const running = cluster.start(kvEventAggregator, config, { id: "agg" });
  const worker = new FakeWorker(cluster, "w1");
  discovery.list([worker.entry()]);
  await cluster.clock.advanceBy(300);
  const consumer = cluster.bus("consumer");
  const answerTo = async <T>(
    subject: string,
    question: Uint8Array,
    read: (bytes: Uint8Array) => T,
  ) => {
    const asked = consumer
      .request(subject, question, { timeoutMs: 1_000 })
      .then(read, (error: { readonly code: string }) => error.code);
    await cluster.clock.advanceBy(1_100);
    return asked;
  };
  const positions = (name = model) =>
    answerTo(cluster.subjects.getKvPositions(name), new Uint8Array(), KvPositions.decode);
  const question = (changes: Partial<GetKvHistory> = {}) =>
    GetKvHistory.encode({
      workerId: workerId("w1"),
      generation: 1,
      dpRank: 0,
      from: null,
      dump: null,
      page: 0,
      atLeast: 0,
      ...changes,
    });
  const history = (changes: Partial<GetKvHistory> = {}) =>
    answerTo(cluster.subjects.getKvHistory(model), question(changes), KvHistory.decode);
  return { cluster, consumer, discovery, history, positions, question, running, worker };
}

describe("getKvPositions", () => {
  it("lists every rank that belongs on the feed, and how far the feed has come with it", async () => {
    const { cluster, discovery, positions, running, worker } = await setUp();
    const quiet = new FakeWorker(cluster, "w2");
    discovery.list([worker.entry(), quiet.entry()]);
    worker.store(1);
    worker.store(2);
    await cluster.clock.advanceBy(20);

    expect(await positions()).toEqual({
      epoch: running.generation,
      feedSequence: 2,
      ranks: [
        { workerId: "w1", generation: 1, dpRank: 0, sequence: 2 },
        { workerId: "w2", generation: 1, dpRank: 0, sequence: null },
      ],
    });
    expect(quiet.asks).toEqual([]);
  });

  it("still lists a worker that is silent for a moment, and not one that is gone", async () => {
    const { cluster, positions, worker } = await setUp();
    worker.store(1);
    worker.life.freeze();
    await cluster.clock.advanceBy(800);

    expect(await positions()).toMatchObject({ ranks: [{ workerId: "w1" }] });
    await cluster.clock.advanceBy(1_500);
    expect(await positions()).toMatchObject({ ranks: [] });
  });

  it("answers for a model that nobody serves with nothing", async () => {
    const { positions } = await setUp();

    expect(await positions("nobody" as typeof model)).toMatchObject({ feedSequence: 0, ranks: [] });
  });

  it("says nothing before it knows all workers: whoever asks would forget them", async () => {
    const cluster = memoryCluster();
    cluster.start(kvEventAggregator, {
      bufferedBatches: 8,
      recoveryAttempts: 2,
      recoveryBackoffMs: 100,
      recoveryTimeoutMs: 200,
      recoveryConcurrency: 2,
      lostHoldMs: 1_000,
      maxSources: 10,
      maxHistoryAsks: 10,
      dumpKeepMs: 1_000,
      dumpCacheBytes: 10_000,
    });
    await cluster.clock.advanceBy(300);
    const asked = cluster
      .bus("consumer")
      .request(cluster.subjects.getKvPositions(model), new Uint8Array(), { timeoutMs: 500 });
    const failed = expect(asked).rejects.toMatchObject({ code: "deadline_exceeded" });
    await cluster.clock.advanceBy(600);
    await failed;
  });
});

describe("getKvHistory", () => {
  it("answers with the batches that are missing, or with a dump", async () => {
    const { history, worker } = await setUp();
    for (const block of [1, 2, 3]) worker.store(block);

    expect(await history({ from: 2 })).toMatchObject({ kind: "batches", lastSequence: 3 });
    const dump = await history();
    expect(dump).toMatchObject({ kind: "dump", lastSequence: 3, page: 0, next: null });
    expect(placesIn(typeof dump === "string" ? [] : dump.bodies)).toEqual(new Set([1, 2, 3]));
  });

  it("costs a worker one answer however many ask", async () => {
    const { cluster, consumer, question, worker } = await setUp();
    worker.store(1);
    const subject = cluster.subjects.getKvHistory(model);

    const asked = Array.from({ length: 20 }, () =>
      consumer.request(subject, question(), { timeoutMs: 1_000 }),
    );
    await cluster.clock.advanceBy(50);

    expect((await Promise.all(asked)).map((bytes) => KvHistory.decode(bytes).lastSequence)).toEqual(
      Array.from({ length: 20 }, () => 1),
    );
    expect(worker.asks).toEqual([null]);
  });

  it("has none for a generation that is not on the feed, and for a worker that does not answer", async () => {
    const { history, worker } = await setUp();

    expect(await history({ generation: 2 })).toMatchObject({ kind: "none", generation: 2 });
    expect(await history({ workerId: workerId("nobody") })).toMatchObject({ kind: "none" });
    expect(await history({ dpRank: 4_000_000_000 })).toMatchObject({ kind: "none" });
    worker.answers = false;
    expect(await history()).toMatchObject({ kind: "none" });
    expect(worker.asks).toEqual([null]);
  });

  it("lets so many wait at once, and tells the next to ask again", async () => {
    const { cluster, consumer, question, worker } = await setUp(1);
    worker.answers = false;
    const subject = cluster.subjects.getKvHistory(model);

    const waits = consumer.request(subject, question(), { timeoutMs: 1_000 });
    const refused = consumer.request(subject, question(), { timeoutMs: 1_000 });
    await cluster.clock.advanceBy(50);

    expect(KvHistory.decode(await refused)).toMatchObject({ kind: "none" });
    expect(await cluster.metrics.text()).toMatch(/histories_total\{.*outcome="refused".*\} 1/);
    await cluster.clock.advanceBy(1_000);
    expect(KvHistory.decode(await waits)).toMatchObject({ kind: "none" });
  });

  it("counts a question that it cannot read", async () => {
    const { cluster, consumer } = await setUp();

    consumer.publish(cluster.subjects.getKvHistory(model), Uint8Array.of(0xc1));
    await cluster.clock.advanceBy(20);

    expect(await cluster.metrics.text()).toMatch(/undecodable_total\{.*\} 1/);
  });
});
