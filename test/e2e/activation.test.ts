import { type NatsServer, startNatsServer } from "@baton/runtime";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import {
  type ActorSpec,
  BusWatch,
  Cluster,
  commonActors,
  describeWith,
  post,
  settles,
  startCluster,
  waitUntil,
  workerSpec,
} from "../support/processes/index.ts";

const timing = { "mock-prefill-ms": 2, "mock-decode-ms": 1 };

describeWith(["nats"], "the activation of disaggregated serving", () => {
  let nats: NatsServer;
  let cluster: Cluster | undefined;

  beforeAll(async () => {
    nats = await startNatsServer();
  });
  afterEach(async () => {
    await cluster?.stop();
    cluster = undefined;
  });
  afterAll(() => nats?.stop());

  const ask = (running: Cluster, model = "mock") =>
    post(running.api, "completions", {
      model,
      prompt: "Who runs?",
      max_tokens: 3,
      baton: { include: ["route"] },
    });

  /** What status says and what a client gets, once both agree with `wanted`. */
  async function untilShown(
    running: Cluster,
    wanted: { readonly activation?: string; readonly why: string | null },
    model = "mock",
  ) {
    await waitUntil(`status to show ${JSON.stringify(wanted)}`, async () => {
      const found = await running.modelStatus(model);
      if (found === undefined) return false;
      const fits = wanted.activation === undefined || found.activation === wanted.activation;
      return fits && (found.why?.code ?? null) === wanted.why;
    });
    return await waitUntil("the Frontend to agree", async () => {
      const answer = await ask(running, model);
      const why = answer.status === 200 ? null : (answer.body.error.why?.code ?? "none");
      return why === wanted.why && answer;
    });
  }

  const prefill = workerSpec("prefill", "prefill-0", "mock", timing);
  const decode = workerSpec("decode", "decode-0", "mock", timing);
  const [discovery, aggregator, prefillRouter, decodeRouter, frontend] = commonActors() as [
    ActorSpec,
    ActorSpec,
    ActorSpec,
    ActorSpec,
    ActorSpec,
  ];

  it.each<[string, readonly ActorSpec[]]>([
    [
      "decode, prefill, routers, Discovery, Frontend",
      [decode, prefill, decodeRouter, prefillRouter, aggregator, discovery, frontend],
    ],
    [
      "Frontend, routers, prefill, Discovery, decode",
      [frontend, prefillRouter, decodeRouter, prefill, discovery, aggregator, decode],
    ],
    [
      "Discovery, decode, Frontend, prefill, routers",
      [discovery, decode, frontend, aggregator, prefill, decodeRouter, prefillRouter],
    ],
  ])("comes about with arrivals in the order %s", async (order, arrivals) => {
    const watch = await BusWatch.join(nats.url, order);
    cluster = new Cluster({ nats, namespace: order, watch, ownsNats: false });
    for (const spec of arrivals) {
      cluster.spawn(spec);
      const { id } = spec;
      await waitUntil(`${id} to be heard`, () => watch.heartbeat(id) !== undefined);
    }

    await cluster.untilServing("mock");
    const answer = await ask(cluster);

    expect(answer.status).toBe(200);
    expect(answer.body.baton?.mode).toBe("disaggregated");
  });

  it("is shown and answered step by step, as workers come and go", async () => {
    cluster = await startCluster({
      nats,
      namespace: "steps",
      prefill: 0,
      decode: 0,
      also: [],
    });
    const running = cluster;
    const refusal = async (why: string) => {
      const { status, headers, body } = await untilShown(running, { why });
      return {
        status,
        code: body.error.code,
        retry: headers.get("retry-after"),
        text: body.error.why?.text !== "",
      };
    };
    const notReady = { status: 503, code: "not_ready", retry: "1", text: true };
    const serves = { activation: "active", why: null };

    // Nobody.
    const nobody = await ask(running);
    expect(nobody.status).toBe(503);
    expect(nobody.body.error).toMatchObject({ code: "not_ready", why: { code: "no_workers" } });
    expect((await running.status()).models).toEqual([]);
    // Decode first.
    await running.start(decode);
    expect(await refusal("missing_prefill")).toEqual(notReady);
    await running.start(prefill);
    expect((await untilShown(running, serves)).body.baton?.mode).toBe("disaggregated");
    // Prefill leaves, and comes back.
    expect((await running.end("prefill-0", "SIGTERM")).code).toBe(0);
    expect(await refusal("missing_prefill")).toEqual(notReady);
    await running.start(prefill);
    expect((await untilShown(running, serves)).body.baton?.mode).toBe("disaggregated");
    // Prefill is killed, and comes back.
    await running.end("prefill-0", "SIGKILL");
    expect(await refusal("missing_prefill")).toEqual(notReady);
    const isLost = expect.objectContaining({ id: "prefill-0", state: "lost" });
    await expect.poll(async () => (await running.status()).actors, settles).toContainEqual(isLost);
    await running.start(prefill);
    expect((await untilShown(running, serves)).body.baton?.mode).toBe("disaggregated");
    // Decode is killed: now prefill is first.
    await running.end("decode-0", "SIGKILL");
    expect(await refusal("missing_decode")).toEqual(notReady);
    await running.start(decode);
    expect((await untilShown(running, serves)).body.baton?.mode).toBe("disaggregated");
    // Another set of the same role makes it ambiguous, until it has left.
    const second = workerSpec("prefill", "prefill-1", "mock", { ...timing, set: "second" });
    await running.start(second);
    expect(await refusal("ambiguous_sets")).toEqual(notReady);
    expect((await running.end("prefill-1", "SIGTERM")).code).toBe(0);
    expect((await untilShown(running, serves)).body.baton?.mode).toBe("disaggregated");
    expect(await running.held()).toEqual({});
  });

  it("gives way to decode-only, where decode workers need nobody", async () => {
    const flags = { ...timing, "decode-only": true };
    cluster = await startCluster({
      nats,
      namespace: "decode-only",
      prefill: 0,
      decode: 0,
      also: [workerSpec("decode", "decode-0", "mock", flags)],
    });
    const modeOf = async () => (await ask(cluster as Cluster)).body.baton?.mode;
    const untilMode = (mode: string) =>
      waitUntil(`mode ${mode}`, async () => (await modeOf()) === mode);

    expect(await modeOf()).toBe("decode-only");
    await cluster.start(prefill);
    await untilMode("disaggregated");
    const modelStatus = () => (cluster as Cluster).modelStatus("mock");
    await expect.poll(modelStatus, settles).toMatchObject({ activation: "active" });
    await cluster.end("prefill-0", "SIGTERM");
    await untilMode("decode-only");
    await cluster.start(prefill);
    await untilMode("disaggregated");
    await cluster.end("prefill-0", "SIGKILL");
    await waitUntil("decode-only to be served again", async () => {
      const answer = await ask(cluster as Cluster);
      return answer.status === 200 && answer.body.baton?.mode === "decode-only";
    });
    const isLost = expect.objectContaining({ worker_type: "prefill", live: 0, lost: 1 });
    await expect
      .poll(modelStatus, settles)
      .toMatchObject({ ready: true, why: null, sets: expect.arrayContaining([isLost]) });
  });
});
