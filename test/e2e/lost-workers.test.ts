import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import {
  ApiStream,
  type Cluster,
  describeWith,
  post,
  startCluster,
  textOf,
  waitUntil,
  workerSpec,
} from "../support/processes/index.ts";

const timing = { "mock-prefill-ms": 700, "mock-decode-ms": 50, "transfer-gbps": 0.05 };
/** At 0.05 GB/s a prompt like this takes some seconds to move. */
const longPrompt = "the relay runs on and on. ".repeat(300);
const killedMs = 1_000;
const frozenMs = 1_500;

/** Two workers of each type, so that something run again would show in the counters of those that live on. */
describeWith(["nats"], "a worker that is gone while it has work", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ prefill: 2, decode: 2, flags: timing });
  });
  afterAll(() => cluster?.stop());
  afterEach(async () => {
    // Back to two of each, whoever was lost.
    for (const type of ["prefill", "decode"] as const) {
      for (const id of [`${type}-0`, `${type}-1`]) {
        if (!cluster.runs(id)) await cluster.start(workerSpec(type, id, "mock", timing));
      }
    }
    await cluster.untilServing("mock");
  });

  interface Asked {
    readonly id: string;
    readonly stream: ApiStream;
  }

  function ask(content = "Who runs?", more: Record<string, unknown> = {}): Asked {
    const id = randomUUID();
    const body = { model: "mock", messages: [{ role: "user", content }], max_tokens: 200, ...more };
    return { id, stream: new ApiStream(cluster.api, "chat/completions", body, id) };
  }

  const started = (leg: "prefills" | "decodes") =>
    cluster.metrics(`baton_worker_${leg}_started_total`);
  const other = (id: string) => (id.endsWith("0") ? id.replace("0", "1") : id.replace("1", "0"));

  /** Brings a request to a state and says which worker has it. */
  async function bring(asked: Asked, state: "prefill.running" | "handoff" | "decode.streaming") {
    const type = state === "prefill.running" ? "prefill" : "decode";
    const { details } = await cluster.watch.untilState(asked.id, state);
    if (details.workerId === undefined)
      throw new Error(`${state} does not say which ${type} worker`);
    return details.workerId;
  }

  it.each([
    ["SIGKILL", killedMs],
    ["SIGSTOP", frozenMs],
  ] as const)(
    "ends its prefills once each, after %s of the prefill worker",
    async (signal, limitMs) => {
      const first = ask("first");
      const lost = await bring(first, "prefill.running");
      const body = { model: "mock", prompt: "whole", max_tokens: 4 };
      const whole = post(cluster.api, "completions", body);
      await waitUntil("both workers to work", async () => (await started("prefills")) >= 2);
      const before = { prefills: await started("prefills"), decodes: await started("decodes") };
      const lostBefore = await cluster.metrics("baton_worker_prefills_started_total", { id: lost });

      const killedAtMs = cluster.kill(lost, signal);
      const stream = await first.stream.over();

      expect(stream.endedAtMs - killedAtMs).toBeLessThan(limitMs);
      expect(stream.status).toBe(503);
      expect(stream.errors).toEqual([
        {
          code: "worker_lost",
          type: "server_error",
          stage: "prefill.running",
          request_id: expect.stringMatching(/^req/),
          message: expect.any(String),
          param: null,
        },
      ]);
      expect(stream.headers.get("retry-after")).toBe("1");
      expect((await whole).status).toBe(200);
      expect(await started("prefills")).toBe(before.prefills - lostBefore);
      expect(await started("decodes")).toBe(before.decodes + 1);
      await cluster.untilIdle();
      if (signal === "SIGSTOP") {
        cluster.kill(lost, "SIGCONT");
        await cluster.untilIdle();
      }
      const status = await waitUntil("the model to be ready", async () => {
        const found = await cluster.modelStatus("mock");
        return found?.ready === true && found;
      });
      expect(status.activation).toBe("active");
    },
  );

  it.each([
    ["SIGKILL", killedMs],
    ["SIGSTOP", frozenMs],
  ] as const)(
    "ends its streams once each, after %s of the decode worker",
    async (signal, limitMs) => {
      const streams = [ask("one"), ask("two"), ask("three"), ask("four")];
      const places = await Promise.all(streams.map((asked) => bring(asked, "decode.streaming")));
      // Short prompts cost the same everywhere, so that chance decides: until each of both workers has some.
      while (new Set(places).size < 2) {
        const more = ask(`another, after ${places.length}`);
        streams.push(more);
        places.push(await bring(more, "decode.streaming"));
      }
      await Promise.all(streams.map(({ stream }) => stream.begun()));
      const lost = places[0] ?? "";
      const before = { prefills: await started("prefills"), decodes: await started("decodes") };
      const lostBefore = await cluster.metrics("baton_worker_decodes_started_total", { id: lost });

      const killedAtMs = cluster.kill(lost, signal);
      const cut = streams.filter((_, index) => places[index] === lost).map(({ stream }) => stream);
      const others = streams
        .filter((_, index) => places[index] !== lost)
        .map(({ stream }) => stream);
      await Promise.all(cut.map((stream) => stream.over()));

      for (const stream of cut) {
        expect(stream.endedAtMs - killedAtMs).toBeLessThan(limitMs);
        expect(stream.status).toBe(200);
        expect(stream.isDone).toBe(false);
        expect(stream.broken).toBeNull();
        expect(stream.events.at(-1)?.event).toBe("error");
        expect(stream.errors).toEqual([
          expect.objectContaining({
            code: "worker_lost",
            stage: "decode.streaming",
            request_id: expect.stringMatching(/^req/),
          }),
        ]);
        expect(stream.text()).toMatch(/^[0-9a-f]/);
      }
      expect(others.length).toBeGreaterThan(0);
      for (const stream of others) {
        expect(stream.errors).toEqual([]);
        stream.leave();
      }
      await cluster.untilIdle();
      expect(await started("prefills")).toBe(before.prefills);
      expect(await started("decodes")).toBe(before.decodes - lostBefore);
      if (signal === "SIGSTOP") cluster.kill(lost, "SIGCONT");
      await cluster.untilIdle();
    },
  );

  it("ends a handoff once and frees its blocks, after SIGKILL of the prefill worker", async () => {
    const asked = ask(longPrompt);
    await bring(asked, "prefill.running");
    const { details } = await cluster.watch.untilState(asked.id, "prefill.running");
    const lost = details.workerId ?? "";
    await cluster.watch.untilState(asked.id, "handoff");

    const killedAtMs = cluster.kill(lost, "SIGKILL");
    const stream = await asked.stream.over();

    expect(stream.endedAtMs - killedAtMs).toBeLessThan(killedMs);
    expect(stream.errors).toHaveLength(1);
    expect(stream.errors[0]?.stage).toBe("handoff");
    expect(["worker_lost", "kv_transfer_failed"]).toContain(stream.errors[0]?.code);
    expect([502, 503]).toContain(stream.status);
    await cluster.untilIdle();
  });

  it("ends a handoff once and frees its staged KV, after SIGKILL of the decode worker", async () => {
    const asked = ask(longPrompt);
    const lost = await bring(asked, "handoff");
    const decodesOfOther = () =>
      cluster.metrics("baton_worker_decodes_started_total", { id: other(lost) });
    const before = await decodesOfOther();

    const killedAtMs = cluster.kill(lost, "SIGKILL");
    const stream = await asked.stream.over();

    expect(stream.endedAtMs - killedAtMs).toBeLessThan(killedMs);
    expect(stream.status).toBe(503);
    expect(stream.errors).toEqual([
      expect.objectContaining({ code: "worker_lost", stage: "handoff" }),
    ]);
    await cluster.untilIdle();
    expect(await decodesOfOther()).toBe(before);
  });

  it("serves on with the worker that is left, and with a new generation of the lost one", async () => {
    const before = (await cluster.status()).actors.find(({ id }) => id === "prefill-0");
    await cluster.end("prefill-0", "SIGKILL");
    await waitUntil("status to show the loss", async () => {
      const model = await cluster.modelStatus("mock");
      return model?.sets.some(({ worker_type, lost }) => worker_type === "prefill" && lost === 1);
    });

    const left = await post(cluster.api, "completions", {
      model: "mock",
      prompt: "on",
      max_tokens: 2,
      baton: { include: ["route"] },
    });
    await cluster.start(workerSpec("prefill", "prefill-0", "mock", timing));
    const after = (await cluster.status()).actors.find(({ id }) => id === "prefill-0");

    expect(textOf(left)).not.toBe("");
    expect(left.body.baton?.prefill_worker).toBe("prefill-1");
    expect(after?.generation).toBeGreaterThan(before?.generation ?? 0);
    expect(after?.state).toBe("ready");
  });
});
