import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import {
  type ActorSpec,
  ApiStream,
  type Cluster,
  commonActors,
  describeWith,
  post,
  settles,
  startCluster,
  waitUntil,
  workerSpec,
} from "../support/processes/index.ts";

const timing = { "mock-prefill-ms": 700, "mock-decode-ms": 20 };
/** A third of a second on a quiet machine. */
const lostMs = 1_250;
/** A Frontend's lease at its workers: 4.4 heartbeats of 250 ms, and a look at the clock. */
const leaseMs = 2_000;

describeWith(["nats"], "an actor that is no worker and is gone", () => {
  let cluster: Cluster;
  const [discovery, aggregator, prefillRouter, decodeRouter, frontend] = commonActors() as [
    ActorSpec,
    ActorSpec,
    ActorSpec,
    ActorSpec,
    ActorSpec,
  ];

  beforeAll(async () => {
    cluster = await startCluster({ flags: { ...timing, "max-num-seqs": 2 } });
  });
  afterAll(() => cluster?.stop());
  afterEach(async () => {
    for (const spec of [discovery, aggregator, prefillRouter, decodeRouter, frontend]) {
      if (!cluster.runs(spec.id)) await cluster.start(spec);
    }
    await cluster.untilServing("mock");
    await cluster.untilIdle(20_000);
  });

  function ask(content: string, maxTokens = 100, api = cluster.api) {
    const id = randomUUID();
    const messages = [{ role: "user", content }];
    const body = { model: "mock", messages, max_tokens: maxTokens };
    return { id, stream: new ApiStream(api, "chat/completions", body, id) };
  }

  const askOnce = () =>
    post(cluster.api, "completions", { model: "mock", prompt: "New", max_tokens: 2 });

  async function expectWhole(stream: ApiStream, tokens: number): Promise<void> {
    await stream.over();
    expect(stream.errors).toEqual([]);
    expect(stream.isDone).toBe(true);
    const last = stream.chunks.filter(({ choices }) => choices[0]?.finish_reason === "length");
    expect(last).toHaveLength(1);
    expect(stream.text().length).toBeGreaterThan(tokens / 2);
  }

  /** Asks until the answer is a 503, and gives that. */
  const untilRefused = () =>
    waitUntil("a refusal", async () => {
      const answer = await askOnce();
      return answer.status !== 200 && answer;
    });

  it("PrefillRouter: what is dispatched goes on, what it queued fails once, and new ones are told", async () => {
    const streaming = ask("streaming");
    await streaming.stream.begun();
    const running = [ask("running one", 5), ask("running two", 5)];
    await Promise.all(running.map(({ id }) => cluster.watch.untilState(id, "prefill.running")));
    const queued = ask("queued", 5);
    await waitUntil("the router to hold it", async () => {
      return (await cluster.metrics("baton_router_queued", { role: "prefill" })) === 1;
    });

    const killedAtMs = cluster.kill("prefill-router", "SIGKILL");
    await queued.stream.over();

    expect(queued.stream.endedAtMs - killedAtMs).toBeLessThan(lostMs);
    expect(queued.stream.status).toBe(503);
    expect(queued.stream.errors).toEqual([
      expect.objectContaining({ code: "router_lost", stage: "prefill.queued" }),
    ]);
    for (const { stream } of running) await expectWhole(stream, 5);
    await expectWhole(streaming.stream, 100);
    const refused = await untilRefused();
    expect(refused.status).toBe(503);
    expect(refused.body.error).toMatchObject({ code: "prefill_activating" });
    await expect.poll(() => cluster.modelStatus("mock"), settles).toMatchObject({ ready: false });

    await cluster.start(prefillRouter);
    await cluster.untilServing("mock");
    expect((await askOnce()).status).toBe(200);
  });

  it("DecodeRouter: streams go on, a prefill that ends meanwhile fails once and frees its KV", async () => {
    const streaming = ask("streaming");
    await streaming.stream.begun();
    const running = ask("running", 5);
    await cluster.watch.untilState(running.id, "prefill.running");

    cluster.kill("decode-router", "SIGKILL");
    await running.stream.over();

    expect(running.stream.status).toBe(503);
    expect(running.stream.errors).toEqual([expect.objectContaining({ stage: "decode.routing" })]);
    expect(["no_worker_available", "router_lost", "not_ready"]).toContain(
      running.stream.errors[0]?.code,
    );
    await expectWhole(streaming.stream, 100);
    await cluster.untilIdle();
    expect(await cluster.metrics("baton_kv_handoffs_total", { outcome: "expired" })).toBe(0);

    await cluster.start(decodeRouter);
    await cluster.untilServing("mock");
    expect((await askOnce()).status).toBe(200);
  });

  it("one of two routers of a kind: the other takes what comes next", async () => {
    const spares: readonly ActorSpec[] = [
      { role: "prefill-router", id: "prefill-router-2" },
      { role: "decode-router", id: "decode-router-2" },
    ];
    await Promise.all(spares.map((spec) => cluster.start(spec)));
    await cluster.untilServing("mock");

    await Promise.all([
      cluster.end("prefill-router", "SIGKILL"),
      cluster.end("decode-router", "SIGKILL"),
    ]);
    const answers = [];
    for (let count = 0; count < 4; count += 1) answers.push((await askOnce()).status);

    expect(answers).toEqual([200, 200, 200, 200]);
    await cluster.start(prefillRouter);
    await cluster.start(decodeRouter);
    await cluster.untilServing("mock");
    for (const { id } of spares) await cluster.end(id, "SIGTERM");
    expect((await askOnce()).status).toBe(200);
  });

  it("Discovery: serving goes on, a dead worker is still noticed, and a new one learns all again", async () => {
    const streaming = ask("streaming");
    await streaming.stream.begun();

    await cluster.end("discovery", "SIGKILL");
    const status = await cluster.status();
    expect(status.models).toEqual([]);
    expect((await askOnce()).status).toBe(200);
    await expectWhole(streaming.stream, 100);
    await cluster.end("prefill-0", "SIGKILL");
    await waitUntil("a refusal that names what is missing", async () => {
      return (await askOnce()).body.error?.why?.code === "missing_prefill";
    });

    await cluster.start(discovery);
    await cluster.start(
      workerSpec("prefill", "prefill-0", "mock", { ...timing, "max-num-seqs": 2 }),
    );
    await cluster.untilServing("mock");
    expect((await askOnce()).status).toBe(200);
  });

  it("KvEventAggregator: serving goes on", async () => {
    const streaming = ask("streaming");
    await streaming.stream.begun();

    await cluster.end("kv-event-aggregator", "SIGKILL");

    expect((await askOnce()).status).toBe(200);
    await expectWhole(streaming.stream, 100);
  });

  it("Frontend: what it held is freed within its lease, and others are not disturbed", async () => {
    await cluster.start({ role: "frontend", id: "frontend-2", flags: {} });
    await cluster.untilServing("mock", "frontend-2");
    const other = ask("other", 200);
    await other.stream.begun();
    const doomed = cluster.apiOf("frontend-2");
    const decoding = ask("decoding", 5_000, doomed);
    await decoding.stream.begun();
    // Both places to decode are taken: KV stays staged, while further prompts wait for their turn.
    const more = Array.from({ length: 6 }, (_, index) => ask(`more ${index}`, 5_000, doomed));
    await waitUntil("staged KV, and waiting prompts", async () => {
      const [held, waiting] = await Promise.all([
        cluster.metrics("baton_worker_handoffs_held"),
        cluster.metrics("baton_router_queued", { role: "prefill" }),
      ]);
      return held > 0 && waiting > 0;
    });

    const killedAtMs = cluster.kill("frontend-2", "SIGKILL");
    const freedAtMs = await waitUntil("only the other's request to be left", async () => {
      const [sequences, held, booked, queued] = await Promise.all([
        cluster.metrics("baton_worker_sequences"),
        cluster.metrics("baton_worker_handoffs_held"),
        cluster.metrics("baton_router_bookings"),
        cluster.metrics("baton_router_queued"),
      ]);
      return sequences <= 1 && held === 0 && booked <= 1 && queued === 0 && performance.now();
    });

    expect(freedAtMs - killedAtMs).toBeLessThan(leaseMs);
    await Promise.all([decoding, ...more].map(({ stream }) => stream.over()));
    expect(decoding.stream.isDone).toBe(false);
    await expectWhole(other.stream, 200);
  });
});
