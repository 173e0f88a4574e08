import { createHash } from "node:crypto";
import {
  Artifact,
  GetArtifact,
  GetFrames,
  GetKvEvents,
  KvHistory,
  MissingFrames,
  type ModelName,
  TokenFrame,
  unpackKvEvents,
  type WorkerVerb,
} from "@baton/protocol";
import type { RunningActor } from "@baton/runtime";
import { promptTokens } from "@baton/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { model, type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

let cluster: WorkerCluster;
beforeEach(() => {
  cluster = workerCluster();
});

const ask = async (worker: RunningActor, verb: WorkerVerb, payload: Uint8Array) => {
  let answer: Uint8Array | undefined;
  cluster.frontend.bus
    .request(cluster.subjects.worker(verb, model, worker.id), payload, { timeoutMs: 1_000 })
    .then((bytes) => {
      answer = bytes;
    })
    .catch(() => undefined);
  await cluster.until(() => answer !== undefined);
  return answer as Uint8Array;
};

describe("a drain", () => {
  it("deregisters at once, refuses new work, lets old work finish", async () => {
    const worker = await cluster.startWorker({
      "worker-type": "aggregated",
      "mock-decode-ms": 50,
    });
    const stream = cluster.frontend.generate(worker, "old");
    await cluster.until(() => cluster.frontend.frames.length > 0);

    const drained = worker.drain();
    await cluster.until(() => cluster.discovery.deregistrations.length === 1);
    cluster.frontend.generate(worker, "new", { generation: worker.generation });
    await cluster.until(() => worker.state === "stopped");
    await drained;
    await cluster.clock.advanceBy(50);

    expect(cluster.frontend.tokensOf(stream)).toHaveLength(5);
    expect(cluster.frontend.failed).toMatchObject([
      { requestId: "new", error: { code: "draining" } },
    ]);
    expect(cluster.loads.at(-1)).toMatchObject({ accepting: false });
  });

  it("waits for staged KV to be fetched", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    cluster.frontend.prefill(first, "r1");
    await cluster.until(() => cluster.frontend.prefilled.length === 1);
    const drained = first.drain();
    await cluster.clock.advanceBy(5_000);
    expect(first.state).toBe("draining");

    const stream = cluster.frontend.decode(second, "r1", cluster.frontend.ticketOf("r1"));
    await cluster.until(() => cluster.frontend.endOf(stream) !== null);
    await cluster.until(() => first.state === "stopped");
    await drained;

    expect(cluster.frontend.endOf(stream)?.error).toBeNull();
  });

  it("ends in time: what still runs fails, and nothing is left behind", async () => {
    const worker = await cluster.startWorker({
      "worker-type": "aggregated",
      "mock-decode-ms": 1_000,
    });
    const stream = cluster.frontend.generate(worker, "r1", { params: { maxTokens: 500 } });
    await cluster.until(() => cluster.frontend.frames.length > 0);

    const drained = worker.drain();
    await cluster.until(() => worker.state === "stopped");
    await drained;
    await cluster.clock.advanceBy(100);

    expect(cluster.frontend.endOf(stream)?.error?.code).toBe("draining");
    expect(await cluster.metric(worker, "baton_worker_sequences")).toBe(0);
  });
});

describe("what a worker keeps for others", () => {
  it("sends frames again that were lost on the way", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });
    const stream = cluster.frontend.generate(worker, "r1");
    await cluster.until(() => cluster.frontend.endOf(stream) !== null);
    const { id, generation } = cluster.frontend;
    const want = { frontendId: id, frontendGeneration: generation, from: 1, to: 3 };

    const answer = await ask(worker, "get-frames", GetFrames.encode(want));
    const other = await ask(
      worker,
      "get-frames",
      GetFrames.encode({ ...want, frontendGeneration: 9 }),
    );

    const frames = MissingFrames.decode(answer).frames.map((frame) => TokenFrame.decode(frame));
    expect(frames).toEqual(cluster.frontend.frames.slice(1, 4));
    expect(MissingFrames.decode(other).frames).toEqual([]);
  });

  it("sends KV batches again, or a dump of what its cache holds", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });
    for (const name of ["r1", "r2"]) {
      const stream = cluster.frontend.generate(worker, name, {
        tokens: promptTokens(40, name.length + name.charCodeAt(1), 900),
      });
      await cluster.until(() => cluster.frontend.endOf(stream) !== null);
    }
    const history = async (from: number | null) =>
      KvHistory.decode(
        await ask(
          worker,
          "get-kv-events",
          GetKvEvents.encode({ dpRank: 0, from, dump: null, page: 0 }),
        ),
      );
    const heard = cluster.kvEvents;
    expect(heard.map((batch) => batch.sequence)).toEqual(heard.map((_, i) => i + 1));
    const newest = [{ dpRank: 0, sequence: heard.length }];
    expect(worker.heartbeat().kvBatches).toEqual(newest);

    const tail = await history(2);
    const nothing = await history(heard.length + 1);
    const dump = await history(null);

    expect(tail).toMatchObject({ kind: "batches", lastSequence: heard.length });
    expect(tail.bodies).toEqual(heard.slice(1).map((batch) => batch.events));
    expect(nothing).toMatchObject({ kind: "batches", bodies: [] });
    expect(dump.kind).toBe("dump");
    const blocks = dump.bodies
      .flatMap((body) => unpackKvEvents(body))
      .reduce(
        (sum, event) => sum + (event.kind === "stored" ? event.blockHashes.length / 8 : 0),
        0,
      );
    expect(blocks).toBe(4);
    expect((await history(heard.length + 2)).kind).toBe("dump");
  });

  it("says and keeps nothing of a rank that it has not", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });
    const malformedBefore = await cluster.metric(worker, "baton_bus_malformed_total");
    const subject = cluster.subjects.worker("get-kv-events", model, worker.id);
    const asks = [1, 2, Number.MAX_SAFE_INTEGER].map((dpRank) =>
      cluster.frontend.bus.request(
        subject,
        GetKvEvents.encode({ dpRank, from: null, dump: null, page: 0 }),
        { timeoutMs: 1_000 },
      ),
    );
    const answers = Promise.allSettled(asks);
    await cluster.clock.advanceBy(20_000);

    for (const { status } of await answers) expect(status).toBe("rejected");
    const malformed = await cluster.metric(worker, "baton_bus_malformed_total");
    expect(malformed - malformedBefore).toBe(3);
  });

  it("gives out its tokenizer by checksum", async () => {
    const worker = await cluster.startWorker();
    const checksum = cluster.discovery.registrations[0]?.card.tokenizerChecksum ?? "";

    const right = await ask(worker, "get-artifact", GetArtifact.encode({ checksum }));
    const wrong = await ask(worker, "get-artifact", GetArtifact.encode({ checksum: "0" }));

    const bytes = Artifact.decode(right).bytes as Uint8Array;
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(checksum);
    expect(Artifact.decode(wrong)).toEqual({ checksum: "0", bytes: null });
  });
});

describe("load reports", () => {
  it("come soon after a change, and list all that lives with each heartbeat", async () => {
    const worker = await cluster.startWorker({ "worker-type": "prefill" });
    await cluster.clock.advanceBy(260);
    const before = cluster.loads.length;
    cluster.frontend.prefill(worker, "r1");
    await cluster.clock.advanceBy(30);
    const soon = cluster.loads.slice(before);
    await cluster.clock.advanceBy(260);

    expect(soon.length).toBeGreaterThan(0);
    expect(soon.at(-1)).toMatchObject({ handoffsHeld: 1, liveBookings: null });
    const beat = cluster.loads.findLast((load) => load.liveBookings !== null);
    expect(beat).toMatchObject({ liveBookings: ["r1"], accepting: true, totalBlocks: 256 });
    const sequences = cluster.loads.map((load) => load.sequence);
    expect(sequences).toEqual(sequences.map((_, i) => (sequences[0] ?? 0) + i));
  });

  it("name each ended request once", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });
    for (const name of ["a", "b", "c"]) cluster.frontend.generate(worker, name);
    await cluster.clock.advanceBy(1_000);

    expect(cluster.loads.flatMap((load) => load.endedBookings).sort()).toEqual(["a", "b", "c"]);
    expect(cluster.loads.at(-1)?.liveBookings).toEqual([]);
  });
});

describe("a worker without its bus", () => {
  it("keeps its requests, and what it could not say it says later", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated", "mock-decode-ms": 20 });
    const stream = cluster.frontend.generate(worker, "r1", { params: { maxTokens: 20 } });
    await cluster.until(() => cluster.frontend.tokensOf(stream).length === 3);
    cluster.network.disconnect(worker.id);
    await cluster.clock.advanceBy(100);
    cluster.network.reconnect(worker.id);
    await cluster.clock.advanceBy(600);

    const sequences = cluster.frontend.frames.map((frame) => frame.sequence);
    const missing = Array.from({ length: 20 }, (_, i) => i).filter((s) => !sequences.includes(s));
    expect(missing.length).toBeGreaterThan(0);
    const { id, generation } = cluster.frontend;
    const answer = await ask(
      worker,
      "get-frames",
      GetFrames.encode({
        frontendId: id,
        frontendGeneration: generation,
        from: missing[0] ?? 0,
        to: missing.at(-1) ?? 0,
      }),
    );
    expect(MissingFrames.decode(answer).frames).toHaveLength(missing.length);
    expect(cluster.frontend.endOf(stream)?.error).toBeNull();
  });
});

describe("a worker's start", () => {
  it("fails with the name of the option when there is no such engine", async () => {
    const worker = await cluster.startWorker({ engine: "nothing" }, { awaitReady: false });

    await cluster.until(() => worker.state === "stopped");

    expect((await worker.done).failure).toMatchObject({
      code: "config_invalid",
      details: { option: "engine" },
    });
  });

  it("serves under the name of its model", async () => {
    const worker = await cluster.startWorker({ "model-name": "other/model v1" });

    expect(worker.heartbeat().model).toBe("other/model v1" as ModelName);
  });
});
