import {
  Artifact,
  Catalog,
  type FrameEntry,
  GenerationWork,
  modelName,
  PrefillDone,
  RouteDecode,
  RoutePrefill,
  requestId,
  TokenFrame,
  type WorkerType,
  workerId,
} from "@baton/protocol";
import { type RunningActor, readOptions } from "@baton/runtime";
import {
  catalog,
  catalogWorker,
  type MemoryCluster,
  memoryCluster,
  testModel,
  workerRegistration,
} from "@baton/testing";
import { describe, expect, it } from "vitest";
import { createFrontendCore, frontend, frontendOptions } from "../src/index.ts";
import { byteArtifact, checksumOf } from "./support/byte-artifact.ts";
import { tokensOf } from "./support/fake-text-model.ts";
import { RecordingSink } from "./support/recording-sink.ts";

const artifact = byteArtifact();
const config = readOptions(frontendOptions, { flags: { port: 0 }, env: {} });
const model = modelName(testModel);

function workerOf(id: string, workerType: WorkerType, needs: WorkerType[][]) {
  const card = { tokenizerChecksum: checksumOf(artifact), contextLength: 1_000 };
  return catalogWorker(workerRegistration({ id, workerType, needs, card }));
}

/** Discovery, routers and workers of one model, as far as a Frontend sees them. */
function playPeers(cluster: MemoryCluster, text: string): GenerationWork[] {
  const { subjects } = cluster;
  const bus = cluster.bus("peers");
  const works: GenerationWork[] = [];
  const workers = [
    workerOf("p1", "prefill", [["decode"]]),
    workerOf("d1", "decode", [["prefill"]]),
  ];
  bus.subscribe(subjects.getCatalog(), (message) =>
    message.respond(Catalog.encode(catalog(workers))),
  );
  for (const id of ["p1", "d1"]) {
    bus.subscribe(subjects.worker("get-artifact", model, workerId(id)), (message) =>
      message.respond(Artifact.encode({ checksum: checksumOf(artifact), bytes: artifact })),
    );
  }
  const generation = workers[0]?.registration.generation ?? 0;
  bus.subscribe(subjects.route("prefill-router", model), ({ payload }) => {
    const ask = RoutePrefill.decode(payload);
    works.push(GenerationWork.decode(ask.work));
    const done = {
      ...ask,
      workerId: workerId("p1"),
      generation,
      handoff: Uint8Array.of(1),
      firstTokens: [],
      finishReasons: [null],
      cachedTokens: 2,
      promptLogprobs: null,
      decodeConstraints: null,
    };
    bus.publish(subjects.toFrontend("prefilled", model, ask.frontendId), PrefillDone.encode(done));
  });
  let sequence = 0;
  bus.subscribe(subjects.route("decode-router", model), ({ payload }) => {
    const ask = RouteDecode.decode(payload);
    const tokens = tokensOf(text);
    const end = { reason: "stop", error: null, cachedTokens: 0 } as const;
    const entry: FrameEntry = { ...ask, choice: 0, offset: 0, tokens, logprobs: null, end };
    const frame = {
      workerId: workerId("d1"),
      generation,
      frontendGeneration: ask.frontendGeneration,
      sequence,
      entries: [entry],
    };
    sequence += 1;
    bus.publish(subjects.toFrontend("tokens", model, ask.frontendId), TokenFrame.encode(frame));
  });
  return works;
}

describe("a Frontend below HTTP", () => {
  it("follows the catalog, fetches the tokenizer and relays a chat", async () => {
    const cluster = memoryCluster();
    const works = playPeers(cluster, "Hello");
    const context = cluster.context({ role: "frontend", id: "f1" });
    const core = createFrontendCore(context, config);
    await core.start();
    await cluster.clock.advanceBy(500);
    const sink = new RecordingSink();

    core.submit(
      {
        requestId: requestId("r1"),
        model: testModel,
        prompt: { kind: "chat", messages: [{ role: "user", content: "Hi" }] },
        output: { maxTokens: 8, n: 1 },
        stop: [],
        clientRequestId: null,
        traceparent: null,
      },
      sink,
    );
    await cluster.clock.advanceBy(100);

    expect(context.syncs.at(-1)).toBeNull();
    expect(sink.outcome()).toBe("completed");
    expect(sink.text()).toBe("Hello");
    expect([...(works[0]?.tokens ?? [])]).toEqual([...tokensOf("user:Hi"), 256]);
    expect(sink.ends[0]?.summary).toMatchObject({ mode: "disaggregated", cachedTokens: 2 });
    await core.stop();
    expect(context.failures).toEqual([]);
  });

  it("leaves no timer and no request behind", async () => {
    const cluster = memoryCluster();
    const core = createFrontendCore(cluster.context({ role: "frontend", id: "f1" }), config);
    await core.start();
    await cluster.clock.advanceBy(100);

    await core.stop();
    await cluster.clock.advanceBy(10_000);

    expect(cluster.clock.pendingTimers).toBe(0);
  });
});

describe("a Frontend that starts", () => {
  /** One aggregated worker, which sends its tokenizer when the test says so. */
  function withWorker(cluster: MemoryCluster) {
    const { subjects } = cluster;
    const bus = cluster.bus("peers");
    const asks: (() => void)[] = [];
    const workers = [workerOf("a1", "aggregated", [])];
    bus.subscribe(subjects.getCatalog(), (message) =>
      message.respond(Catalog.encode(catalog(workers))),
    );
    bus.subscribe(subjects.worker("get-artifact", model, workerId("a1")), (message) => {
      const answer = Artifact.encode({ checksum: checksumOf(artifact), bytes: artifact });
      asks.push(() => message.respond(answer));
    });
    const context = cluster.context({ role: "frontend", id: "f1" });
    const patient = { ...config, artifactTimeoutMs: 60_000 };
    return { asks, context, core: createFrontendCore(context, patient) };
  }

  it("is ready once the tokenizers of the models there are have been loaded", async () => {
    const cluster = memoryCluster();
    const { asks, context, core } = withWorker(cluster);
    await core.start();
    await cluster.clock.advanceBy(2_000);
    expect(context.syncs.at(-1)).toBe(`loads the tokenizer of ${testModel}`);

    asks[0]?.();
    await cluster.clock.advanceBy(500);

    expect(asks).toHaveLength(1);
    expect(context.syncs.at(-1)).toBeNull();
    await core.stop();
    await cluster.clock.advanceBy(60_000);
    expect(cluster.clock.pendingTimers).toBe(0);
  });

  it("is ready without a tokenizer that does not come", async () => {
    const cluster = memoryCluster();
    const { context, core } = withWorker(cluster);

    await core.start();
    await cluster.clock.advanceBy(config.warmUpMs + 500);

    expect(context.syncs.at(-1)).toBeNull();
    await core.stop();
  });
});

describe("a Frontend with its API", () => {
  /** Moves virtual time while something real is waited for. */
  async function during<T>(cluster: MemoryCluster, pending: Promise<T>): Promise<T> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    pending.then(over, over);
    while (!isOver) {
      await cluster.clock.advanceBy(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return pending;
  }

  async function started(cluster: MemoryCluster): Promise<{ actor: RunningActor; api: string }> {
    const actor = cluster.start(frontend, config, { id: "f1" });
    await during(cluster, actor.whenState("ready"));
    return { actor, api: actor.heartbeat().api ?? "" };
  }

  it("answers over HTTP what it relays, and says in its life sign where it is", async () => {
    const cluster = memoryCluster();
    playPeers(cluster, "Hello");
    const { actor, api } = await started(cluster);
    const body = JSON.stringify({
      model: testModel,
      messages: [{ role: "user", content: "Hi" }],
      baton: { include: ["route"] },
    });

    const response = await during(
      cluster,
      fetch(`${api}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      }),
    );

    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: "Hello" } }],
      usage: { prompt_tokens_details: { cached_tokens: 2 } },
      baton: { mode: "disaggregated", prefill_worker: "p1", decode_worker: "d1" },
    });
    await during(cluster, actor.stop());
    expect(cluster.clock.pendingTimers).toBe(0);
  });

  it("counts what it has answered and holds nothing", async () => {
    const cluster = memoryCluster();
    playPeers(cluster, "Hello");
    const { actor, api } = await started(cluster);

    await during(
      cluster,
      fetch(`${api}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: testModel, prompt: "Hi" }),
      }).then((response) => response.text()),
    );
    const figures = await cluster.metrics.text();

    expect(figures).toMatch(/baton_frontend_requests_in_flight\{[^}]*\} 0/);
    expect(figures).toMatch(/baton_frontend_requests_total\{[^}]*outcome="completed"[^}]*\} 1/);
    expect(figures).toMatch(/baton_kv_cached_tokens_total\{[^}]*kind="reused"[^}]*\} 2/);
    await during(cluster, actor.stop());
  });
});
