import { type GenerationParams, requestId } from "@baton/protocol";
import type { RunningActor } from "@baton/runtime";
import { promptTokens } from "@baton/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeFrontend, type WorkerCluster, workerCluster } from "./support/worker-cluster.ts";

let cluster: WorkerCluster;
beforeEach(() => {
  cluster = workerCluster();
});

/** Everything that is held is back to nothing, and the load report says so. */
async function expectNothingHeld(...workers: RunningActor[]): Promise<void> {
  await cluster.clock.advanceBy(300);
  for (const worker of workers) {
    for (const gauge of [
      "baton_worker_sequences",
      "baton_worker_blocks_used",
      "baton_worker_handoffs_held",
      "baton_kv_transfer_bytes_held",
    ]) {
      expect([gauge, await cluster.metric(worker, gauge)]).toEqual([gauge, 0]);
    }
    const report = cluster.loads.filter((load) => load.workerId === worker.id).at(-1);
    expect(report).toMatchObject({ handoffsHeld: 0, activeBlocks: 0, runningSequences: 0 });
  }
}

describe("generate", () => {
  it("answers with one frame a step, and ends with a mark", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });

    const stream = cluster.frontend.generate(worker, "r1", { params: { maxTokens: 6 } });
    await cluster.until(() => cluster.frontend.endOf(stream) !== null);

    expect(cluster.frontend.tokensOf(stream)).toHaveLength(6);
    expect(cluster.frontend.endOf(stream)).toEqual({
      reason: "length",
      error: null,
      cachedTokens: 0,
    });
    expect(cluster.frontend.frames.map((frame) => frame.sequence)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await cluster.metric(worker, "baton_worker_decodes_started_total")).toBe(1);
    await expectNothingHeld(worker);
  });

  it("puts all streams of a step into one frame", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });

    const streams = ["a", "b", "c", "d"].map((name, seed) =>
      cluster.frontend.generate(worker, name, { tokens: promptTokens(20, seed, 900) }),
    );
    await cluster.until(() => streams.every((s) => cluster.frontend.endOf(s) !== null));

    expect(cluster.frontend.frames).toHaveLength(5);
    for (const frame of cluster.frontend.frames) expect(frame.entries).toHaveLength(4);
  });

  it("numbers the frames of each Frontend apart", async () => {
    const other = new FakeFrontend(cluster, "fe-2", 7);
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });

    const mine = cluster.frontend.generate(worker, "r1");
    const theirs = other.generate(worker, "r2");
    await cluster.until(
      () => cluster.frontend.endOf(mine) !== null && other.endOf(theirs) !== null,
    );

    for (const frontend of [cluster.frontend, other]) {
      expect(frontend.frames.map((frame) => frame.sequence)).toEqual([0, 1, 2, 3, 4]);
      expect(new Set(frontend.frames.map((frame) => frame.frontendGeneration))).toEqual(
        new Set([frontend.generation]),
      );
    }
  });

  it("gives every choice and its log-probabilities", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });

    const stream = cluster.frontend.generate(worker, "r1", {
      params: { n: 2, temperature: 1, seed: 4, logprobs: 1 },
    });
    await cluster.until(() => [0, 1].every((c) => cluster.frontend.endOf(stream, c) !== null));

    for (const choice of [0, 1]) {
      const entries = cluster.frontend.entriesOf(stream, choice);
      expect(cluster.frontend.tokensOf(stream, choice)).toHaveLength(5);
      for (const entry of entries) expect(entry.logprobs).toHaveLength(entry.tokens.length);
    }
    await expectNothingHeld(worker);
  });
});

describe("a handoff", () => {
  it.each([
    ["short", 7, {}],
    ["of whole blocks", 48, {}],
    ["long", 333, {}],
    ["with choices", 40, { n: 3, temperature: 1, seed: 5 }],
    ["with log-probabilities", 40, { logprobs: 2 }],
  ])(
    "%s: the decode worker says what one worker alone would say",
    async (_what, promptLength, wish) => {
      const alone = await cluster.startWorker({ "worker-type": "aggregated" });
      const first = await cluster.startWorker({ "worker-type": "prefill" });
      const second = await cluster.startWorker({ "worker-type": "decode" });
      const { frontend } = cluster;
      const params: Partial<GenerationParams> = { maxTokens: 9, ...wish };
      const work = { promptLength, params };
      const choices = Array.from({ length: params.n ?? 1 }, (_, choice) => choice);
      const whole = frontend.generate(alone, "whole", work);
      frontend.prefill(first, "r1", work);
      await cluster.until(() => frontend.prefilled.length === 1);

      const stream = frontend.decode(second, "r1", frontend.ticketOf("r1"), work);
      await cluster.until(() =>
        choices.every(
          (c) => frontend.endOf(stream, c) !== null && frontend.endOf(whole, c) !== null,
        ),
      );

      for (const choice of choices) {
        const chosen = (s: number) =>
          frontend.entriesOf(s, choice).flatMap((entry) => entry.logprobs);
        expect(frontend.tokensOf(stream, choice)).toEqual(frontend.tokensOf(whole, choice));
        expect(chosen(stream)).toEqual(chosen(whole));
        expect(frontend.tokensOf(stream, choice)[0]).toBe(
          frontend.prefilled[0]?.firstTokens[choice]?.id,
        );
      }
      await expectNothingHeld(alone, first, second);
      expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="pulled"')).toBe(1);
      expect(await cluster.metric(second, "baton_kv_blocks_moved_total")).toBe(
        Math.floor(promptLength / 16),
      );
      expect(await cluster.metric(first, "baton_worker_prefills_started_total")).toBe(1);
      expect(await cluster.metric(second, "baton_worker_decodes_started_total")).toBe(1);
    },
  );

  it("moves only the blocks that the decode worker lacks, and still uses the ticket up", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    for (const name of ["r1", "r2"]) {
      frontend.prefill(first, name, { promptLength: 48 });
      await cluster.until(() => frontend.prefilled.some((fact) => fact.requestId === name));
      const stream = frontend.decode(second, name, frontend.ticketOf(name), { promptLength: 48 });
      await cluster.until(() => frontend.endOf(stream) !== null);
    }

    expect(await cluster.metric(second, "baton_kv_blocks_moved_total")).toBe(3);
    expect(await cluster.metric(second, "baton_kv_blocks_reused_total")).toBe(3);
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="pulled"')).toBe(2);
    await expectNothingHeld(first, second);
  });

  it("gives back the decode constraints and what prefill found cached", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1", { promptLength: 50 });
    await cluster.until(() => frontend.prefilled.length === 1);
    frontend.prefill(first, "r2", { promptLength: 50 });
    await cluster.until(() => frontend.prefilled.length === 2);

    expect(frontend.prefilled[0]).toMatchObject({ cachedTokens: 0, promptTokens: 50 });
    expect(frontend.prefilled[1]).toMatchObject({ cachedTokens: 48, decodeConstraints: null });
    expect(frontend.ticketOf("r2")).toMatchObject({
      transport: "blocks",
      blocks: 3,
      bytes: 200,
      promptTokens: 50,
      cachedTokens: 48,
      prefillWorkerId: first.id,
    });
  });

  it("is not made when the first token ends the generation", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const { frontend } = cluster;

    frontend.prefill(first, "r1", { params: { maxTokens: 1, n: 2, temperature: 1 } });
    await cluster.until(() => frontend.prefilled.length === 1);

    expect(frontend.prefilled[0]).toMatchObject({
      handoff: null,
      finishReasons: ["length", "length"],
    });
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="staged"')).toBe(0);
    await expectNothingHeld(first);
  });

  it("expires when nobody comes, and is refused afterwards", async () => {
    const first = await cluster.startWorker({
      "worker-type": "prefill",
      "handoff-lease-ms": 5_000,
    });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);
    await cluster.clock.advanceBy(5_100);
    await expectNothingHeld(first);

    frontend.decode(second, "r1", frontend.ticketOf("r1"));
    await cluster.until(() => frontend.failed.length === 1);

    expect(frontend.failed[0]).toMatchObject({
      leg: "decode",
      error: { code: "handoff_refused", details: { reason: "expired" } },
    });
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="expired"')).toBe(1);
    await expectNothingHeld(second);
  });

  it("is refused to a second decode", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);
    const stream = frontend.decode(second, "r1", frontend.ticketOf("r1"));
    await cluster.until(() => frontend.endOf(stream) !== null);

    frontend.decode(second, "again", frontend.ticketOf("r1"));
    await cluster.until(() => frontend.failed.length === 1);

    expect(frontend.failed[0]?.error.details.reason).toBe("used");
    await expectNothingHeld(first, second);
  });

  it.each([
    ["descriptor", { descriptor: { blockSize: 64 } }, "blockSize"],
    ["transport", { transport: "file" as const }, "transport"],
    ["prompt length", { promptTokens: 3 }, "promptTokens"],
    ["number of first tokens", { firstTokens: [] }, "firstTokens"],
  ])("is refused, naming the field, when its %s does not fit", async (_what, change, field) => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);

    frontend.decode(second, "r1", { ...frontend.ticketOf("r1"), ...change });
    await cluster.until(() => frontend.failed.length === 1);

    expect(frontend.failed[0]).toMatchObject({
      error: { code: "handoff_refused", details: { field } },
    });
    const refused = await cluster.metric(
      second,
      "baton_kv_pulls_refused_total",
      'reason="descriptor"',
    );
    expect(refused).toBe(field === "blockSize" ? 1 : 0);
    frontend.abort(first, "r1");
    await expectNothingHeld(first, second);
  });

  it("fails when the prefill worker is gone, and counts it as no start", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill" });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);
    await first.kill();

    frontend.decode(second, "r1", frontend.ticketOf("r1"));
    await cluster.until(() => frontend.failed.length === 1);

    expect(frontend.failed[0]?.error.code).toBe("kv_transfer_failed");
    expect(await cluster.metric(second, "baton_worker_decodes_started_total")).toBe(0);
    await expectNothingHeld(second);
  });

  it("is refused at staging over the cap, and its KV is freed", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill", "max-staged-bytes": 100 });
    const { frontend } = cluster;

    frontend.prefill(first, "r1", { promptLength: 40 });
    await cluster.until(() => frontend.failed.length === 1);

    expect(frontend.failed[0]).toMatchObject({ leg: "prefill", error: { code: "overloaded" } });
    await expectNothingHeld(first);
  });
});

describe("an abort", () => {
  it("frees a request in prefill, staged KV, a pull under way and a generation", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill", "mock-prefill-ms": 20 });
    const second = await cluster.startWorker({ "worker-type": "decode", "mock-decode-ms": 20 });
    const { frontend } = cluster;
    frontend.prefill(first, "prefilling");
    await cluster.clock.advanceBy(10);
    frontend.abort(first, "prefilling");
    frontend.prefill(first, "staged");
    await cluster.until(() => frontend.prefilled.length === 1);
    frontend.abort(first, "staged");
    frontend.prefill(first, "decoding");
    await cluster.until(() => frontend.prefilled.length === 2);
    const stream = frontend.decode(second, "decoding", frontend.ticketOf("decoding"));
    await cluster.until(() => frontend.tokensOf(stream).length > 1);
    frontend.abort(second, "decoding");
    await cluster.clock.advanceBy(60);
    const told = frontend.frames.length;

    await expectNothingHeld(first, second);

    expect(frontend.frames).toHaveLength(told);
    expect(frontend.prefilled.map((fact) => fact.requestId)).toEqual(["staged", "decoding"]);
    expect(frontend.failed).toEqual([]);
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="released"')).toBe(1);
  });

  it("frees both ends while KV is on its way", async () => {
    const first = await cluster.startWorker({ "worker-type": "prefill", "transfer-gbps": 0.01 });
    const second = await cluster.startWorker({ "worker-type": "decode" });
    const { frontend } = cluster;
    frontend.prefill(first, "r1", { promptLength: 200 });
    await cluster.until(() => frontend.prefilled.length === 1);
    frontend.decode(second, "r1", frontend.ticketOf("r1"), { promptLength: 200 });
    await cluster.clock.advanceBy(300);
    expect(await cluster.metric(first, "baton_worker_handoffs_held")).toBe(1);

    frontend.abort(second, "r1");
    await cluster.clock.advanceBy(300);

    await expectNothingHeld(first, second);
    expect(await cluster.metric(first, "baton_kv_handoffs_total", 'outcome="released"')).toBe(1);
    expect(frontend.failed).toEqual([]);
  });

  it("that overtakes its dispatch keeps the request out, for some seconds", async () => {
    const worker = await cluster.startWorker({ "worker-type": "prefill" });
    const { frontend } = cluster;
    frontend.abort(null, "r1");
    await cluster.clock.advanceBy(1_000);
    frontend.prefill(worker, "r1");
    await cluster.clock.advanceBy(1_000);

    expect(frontend.prefilled).toEqual([]);
    expect(await cluster.metric(worker, "baton_worker_prefills_started_total")).toBe(0);
    expect(cluster.loads.some((load) => load.endedBookings.includes(requestId("r1")))).toBe(true);

    await cluster.clock.advanceBy(5_000);
    frontend.prefill(worker, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);
  });

  it("by release frees staged KV, and a release that comes first keeps the request out", async () => {
    const worker = await cluster.startWorker({ "worker-type": "prefill" });
    const { frontend } = cluster;
    frontend.prefill(worker, "r1");
    await cluster.until(() => frontend.prefilled.length === 1);
    const ticket = frontend.ticketOf("r1");

    frontend.release(worker, ticket, "r1");
    frontend.release(worker, ticket, "r2");
    frontend.prefill(worker, "r2");
    await cluster.clock.advanceBy(500);

    expect(frontend.prefilled).toHaveLength(1);
    await expectNothingHeld(worker);
  });
});

describe("work that is refused", () => {
  it.each([
    ["for another generation", { generation: 5 }, "worker_lost"],
    ["for a rank that it has not", { dpRank: 3 }, "unknown_worker"],
    ["over the context", { promptLength: 2_000 }, "context_length_exceeded"],
    ["without a prompt", { tokens: new Uint32Array(0) }, "invalid_request"],
    ["that asks for what the engine cannot", { params: { promptLogprobs: 1 } }, "unsupported"],
    ["that cannot be read", { work: Uint8Array.of(0xc1) }, "malformed_message"],
  ])("%s fails once, and its booking ends", async (_what, options, code) => {
    const worker = await cluster.startWorker({ "worker-type": "prefill" });

    cluster.frontend.prefill(worker, "r1", options);
    await cluster.clock.advanceBy(300);

    expect(cluster.frontend.failed).toHaveLength(1);
    expect(cluster.frontend.failed[0]).toMatchObject({
      requestId: "r1",
      leg: "prefill",
      actorId: worker.id,
      error: { code },
    });
    expect(cluster.loads.some((load) => load.endedBookings.includes(requestId("r1")))).toBe(true);
    expect(await cluster.metric(worker, "baton_worker_prefills_started_total")).toBe(0);
    await expectNothingHeld(worker);
  });

  it("over its bound fails as overloaded", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated", "max-requests": 2 });
    for (const name of ["a", "b", "c"]) cluster.frontend.generate(worker, name);
    await cluster.clock.advanceBy(300);

    expect(cluster.frontend.failed.map((fact) => [fact.requestId, fact.error.code])).toEqual([
      ["c", "overloaded"],
    ]);
  });

  it("a second time is dropped, and the first goes on", async () => {
    const worker = await cluster.startWorker({ "worker-type": "aggregated" });
    const stream = cluster.frontend.generate(worker, "r1");
    cluster.frontend.generate(worker, "r1");
    await cluster.until(() => cluster.frontend.endOf(stream) !== null);

    expect(cluster.frontend.failed).toEqual([]);
    expect(await cluster.metric(worker, "baton_worker_decodes_started_total")).toBe(1);
  });

  it("with a handoff that cannot be read fails once", async () => {
    const worker = await cluster.startWorker({ "worker-type": "decode" });

    cluster.frontend.decode(worker, "r1", Uint8Array.of(0xc1));
    await cluster.until(() => cluster.frontend.failed.length === 1);

    expect(cluster.frontend.failed[0]?.error.code).toBe("malformed_message");
    await expectNothingHeld(worker);
  });
});
