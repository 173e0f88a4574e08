import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import {
  type ActorSpec,
  ApiStream,
  type Cluster,
  describeWith,
  post,
  startCluster,
  waitUntil,
} from "../support/processes/index.ts";

/** One prompt at a time, so that others wait in their router. */
const timing = { "mock-prefill-ms": 300, "mock-decode-ms": 2, "max-num-seqs": 1 };
const spare: ActorSpec = { role: "prefill-router", id: "prefill-router-2" };
/** A third of a second on a quiet machine. A notice that does not come would be waited for for 1.5 s. */
const atOnceMs = 1_250;
/** From here on a router that hangs is known, by a question that it does not answer. */
const knownMs = 1_000;

describeWith(["nats"], "one of two routers of a kind that is gone", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ flags: timing, also: [spare] });
  });
  afterAll(() => cluster?.stop());
  afterEach(async () => {
    if (!cluster.runs(spare.id)) await cluster.start(spare);
    await cluster.untilServing("mock");
    await cluster.untilIdle(20_000);
  });

  const ask = () => {
    const id = randomUUID();
    const body = { model: "mock", prompt: id, max_tokens: 2 };
    return Object.assign(new ApiStream(cluster.api, "completions", body, id), { id });
  };
  /** So many, each sent to a router. */
  async function askAll(count: number): Promise<readonly ApiStream[]> {
    const streams = Array.from({ length: count }, ask);
    await Promise.all(streams.map(({ id }) => cluster.watch.untilState(id, "prefill.queued")));
    return streams;
  }
  const queuedAt = (id: string) => cluster.metrics("baton_router_queued", { id });
  const isLost = (stream: ApiStream) => stream.errors[0]?.code === "router_lost";

  /** Every stream ends whole or with `router_lost`. Gives the ends of those that were lost. */
  async function endsOfLost(streams: readonly ApiStream[]): Promise<readonly number[]> {
    await Promise.all(streams.map((stream) => stream.over()));
    const lost = streams.filter(isLost);
    for (const stream of streams) {
      expect(stream.errors.length + Number(stream.isDone)).toBe(1);
      expect(stream.isDone || isLost(stream)).toBe(true);
    }
    for (const { status, errors } of lost) {
      expect({ status, stage: errors[0]?.stage }).toEqual({ status: 503, stage: "prefill.queued" });
    }
    return lost.map(({ endedAtMs }) => endedAtMs);
  }

  it("ends what waits in its queue at once with router_lost, and nothing else", async () => {
    const streams = await askAll(10);
    await waitUntil("it to hold some", async () => (await queuedAt(spare.id)) > 0);

    const killedAtMs = cluster.kill(spare.id, "SIGKILL");
    const ends = await endsOfLost(streams);

    expect(ends.length).toBeGreaterThan(0);
    expect(ends.length).toBeLessThan(streams.length);
    for (const endedAtMs of ends) expect(endedAtMs - killedAtMs).toBeLessThan(atOnceMs);
  });

  it("ends what it had not spoken of yet as soon as its death is known", async () => {
    cluster.kill(spare.id, "SIGSTOP");
    const streams = await askAll(10);

    const killedAtMs = cluster.kill(spare.id, "SIGKILL");
    const ends = await endsOfLost(streams);

    expect(ends.length).toBeGreaterThan(0);
    expect(ends.length).toBeLessThan(streams.length);
    for (const endedAtMs of ends) expect(endedAtMs - killedAtMs).toBeLessThan(atOnceMs);
  });

  it("gets nothing any more once it is known to hang, though the server knows nothing of it", async () => {
    const frozenAtMs = cluster.kill(spare.id, "SIGSTOP");
    const early = [];
    while (performance.now() - frozenAtMs < knownMs) {
      early.push(ask());
      await sleep(100);
    }
    await endsOfLost(early);

    const later = [];
    for (let count = 0; count < 8; count += 1) {
      const body = { model: "mock", prompt: randomUUID(), max_tokens: 2 };
      later.push((await post(cluster.api, "completions", body)).status);
    }

    expect(later).toEqual(Array.from({ length: 8 }, () => 200));
    cluster.kill(spare.id, "SIGCONT");
  });
});
