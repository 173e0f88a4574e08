import { randomUUID } from "node:crypto";
import { startNatsServer } from "@baton/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  ApiStream,
  type Cluster,
  describeWith,
  HeldProxy,
  post,
  startCluster,
  textOf,
  waitUntil,
  workerSpec,
} from "../support/processes/index.ts";

const timing = { "mock-prefill-ms": 300, "mock-decode-ms": 30 };
const backMs = 2_000;
const workers = [
  ["prefill", "prefill.running"],
  ["decode", "decode.streaming"],
] as const;

/** One worker of each type, so that nobody stands in for the one that is away. */
describeWith(["nats"], "a worker that is declared lost and goes on", () => {
  let cluster: Cluster;
  const proxies = new Map<string, HeldProxy>();

  beforeAll(async () => {
    const nats = await startNatsServer();
    for (const [id] of workers) proxies.set(id, await HeldProxy.to(nats.url));
    cluster = await startCluster({
      nats,
      prefill: 0,
      decode: 0,
      also: workers.map(([type]) =>
        workerSpec(type, type, "mock", {
          ...timing,
          nats: `nats://127.0.0.1:${proxies.get(type)?.port}`,
        }),
      ),
    });
  });
  afterAll(async () => {
    await cluster?.stop();
    for (const proxy of proxies.values()) proxy.close();
    await cluster?.nats.stop();
  });

  const askOnce = () =>
    post(cluster.api, "completions", { model: "mock", prompt: "Who is back?", max_tokens: 3 });
  const generationOf = async (id: string) =>
    (await cluster.status()).actors.find((actor) => actor.id === id)?.generation;
  /** Words for requests that are over. */
  const late = async () =>
    (await cluster.metrics("baton_frontend_stray_messages_total")) +
    (await cluster.metrics("baton_frontend_frames_dropped_total"));

  /** Brings a request to the worker, takes that away until the request has its one error, and gives it back. */
  async function loseAndReturn(
    state: (typeof workers)[number][1],
    away: () => void,
    back: () => number,
  ) {
    const undisturbed = textOf(await askOnce());
    const id = randomUUID();
    const body = { model: "mock", prompt: id, max_tokens: 400 };
    const stream = new ApiStream(cluster.api, "completions", body, id);
    await cluster.watch.untilState(id, state);
    if (state === "decode.streaming") await stream.begun();

    away();
    await stream.over();
    const { code } = stream.errors[0] ?? {};
    expect({ code, errors: stream.errors.length }).toEqual({ code: "worker_lost", errors: 1 });
    expect(stream.isDone).toBe(false);
    await waitUntil("new ones to be refused", async () => (await askOnce()).status === 503);
    const backAtMs = back();
    const answer = await waitUntil("an answer", async () => {
      const asked = await askOnce();
      return asked.status === 200 && asked;
    });

    expect(answer.atMs - backAtMs).toBeLessThan(backMs);
    expect(textOf(answer)).toBe(undisturbed);
    await cluster.untilIdle();
  }

  it.each(workers)(
    "after it was frozen: the %s worker serves within two seconds, as who it was",
    async (id, state) => {
      const before = await generationOf(id);

      await loseAndReturn(
        state,
        () => cluster.kill(id, "SIGSTOP"),
        () => cluster.kill(id, "SIGCONT"),
      );

      expect(await generationOf(id)).toBe(before);
    },
  );

  it.each(workers)(
    "after it was cut off: the %s worker serves within two seconds, and what it said is dropped",
    async (id, state) => {
      const before = await generationOf(id);
      const lateBefore = await late();
      const proxy = proxies.get(id);
      if (proxy === undefined) throw new Error(`${id} has no proxy`);

      await loseAndReturn(
        state,
        () => proxy.hold(),
        () => proxy.letThrough(),
      );

      expect(await late()).toBeGreaterThan(lateBefore);
      expect(await generationOf(id)).toBe(before);
    },
  );
});
