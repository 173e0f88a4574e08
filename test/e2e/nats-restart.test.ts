import { startNatsServer } from "@baton/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type ApiAnswer,
  ApiStream,
  type Cluster,
  describeWith,
  post,
  settles,
  startCluster,
  textOf,
  waitUntil,
} from "../support/processes/index.ts";

const maxPayload = 64 * 1_024;
const backMs = 2_000;
/** How long requests outlive the bus here; 10 s unless it is said. */
const graceMs = 2_000;

describeWith(["nats"], "a NATS server that is killed and comes back", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({
      nats: await startNatsServer({ maxPayload }),
      flags: { "mock-prefill-ms": 20, "mock-decode-ms": 20 },
      frontendFlags: { "bus-grace-ms": graceMs },
    });
  });
  afterAll(async () => {
    await cluster?.stop();
    await cluster?.nats.stop();
  });

  const ask = (prompt: string, maxTokens = 4, id = "any"): Promise<ApiAnswer> => {
    const body = { model: "mock", prompt, max_tokens: maxTokens };
    return post(cluster.api, "completions", body, { "x-request-id": id });
  };

  it("does not mind a prompt that is larger than the server's max_payload", async () => {
    const prompt = "All the way over the wire, in parts. ".repeat(4_000);

    const answer = await ask(prompt);

    expect(textOf(answer)).not.toBe("");
    // Token ids are four bytes each.
    expect(answer.body.usage.prompt_tokens * 4).toBeGreaterThan(maxPayload);
    const again = await ask(prompt);
    expect(textOf(again)).toBe(textOf(answer));
    expect(again.body.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(0);
  });

  it("loses nobody, answers meanwhile, and serves within two seconds, under load", async () => {
    const generations = await generationsOf(cluster);
    const pids = [...cluster.admins.keys()].map((id) => cluster.process(id).pid);
    // Load: eight clients that ask again and again, and four long streams.
    let isOver = false;
    const answers: ApiAnswer[] = [];
    const clients = Array.from({ length: 8 }, async (_, index) => {
      for (let round = 0; !isOver; round += 1) {
        const id = `client-${index}-${round}`;
        answers.push(
          await ask(id, 4, id).catch((cause: unknown) => throwWhere(cluster, id, cause)),
        );
      }
    });
    const streams = Array.from({ length: 4 }, (_, index) => {
      const body = { model: "mock", prompt: `stream ${index}`, max_tokens: 250 };
      return new ApiStream(cluster.api, "completions", body);
    });
    await Promise.all(streams.map((stream) => stream.begun()));

    await cluster.nats.kill();
    const meanwhile = await waitUntil("bus_unavailable", async () => {
      const answer = await ask("meanwhile");
      return answer.body.error?.code === "bus_unavailable" && answer;
    });
    await cluster.nats.restart();
    const backAtMs = performance.now();
    await waitUntil("an answer", async () => {
      const answer = await ask("back");
      if (answer.status !== 200) answers.push(answer);
      return answer.status === 200;
    });
    const servingAfterMs = performance.now() - backAtMs;
    isOver = true;
    await Promise.all(clients);
    await Promise.all(streams.map((stream) => stream.over()));

    expect(meanwhile.status).toBe(503);
    expect(meanwhile.headers.get("retry-after")).toBe("1");
    expect(servingAfterMs).toBeLessThan(backMs);
    const refused = answers.filter(({ status }) => status !== 200);
    const unlike = refused
      .map(({ body: { error } }) => error)
      .filter(({ code }) => !["bus_unavailable", "router_lost"].includes(code));
    expect(unlike).toEqual([]);
    for (const stream of streams) {
      for (const { code } of stream.errors) expect(code).toBe("bus_unavailable");
      expect(stream.isDone).toBe(stream.errors.length === 0);
      expect(stream.errors.length).toBeLessThanOrEqual(1);
    }
    await cluster.untilServing("mock");
    expect(await generationsOf(cluster)).toEqual(generations);
    expect([...cluster.admins.keys()].map((id) => cluster.process(id).pid)).toEqual(pids);
    const isWhole = expect.objectContaining({ live: 1, lost: 0 });
    await expect
      .poll(() => cluster.modelStatus("mock"), settles)
      .toMatchObject({ sets: [isWhole, isWhole] });
    for (const code of ["worker_lost"]) {
      expect(await cluster.metrics("baton_frontend_requests_total", { code })).toBe(0);
    }
    await cluster.untilIdle();
  });

  it("that stays away ends what is open at the limit, with bus_unavailable, and loses nobody all the same", async () => {
    const generations = await generationsOf(cluster);
    const streams = Array.from({ length: 4 }, (_, index) => {
      const body = { model: "mock", prompt: `long stream ${index}`, max_tokens: 5_000 };
      return new ApiStream(cluster.api, "completions", body);
    });
    await Promise.all(streams.map((stream) => stream.begun()));

    await cluster.nats.kill();
    const lostAtMs = performance.now();
    await Promise.all(streams.map((stream) => stream.over()));
    await waitUntil("the outage to be long", () => performance.now() - lostAtMs > 2 * graceMs);
    await cluster.nats.restart();
    const backAtMs = performance.now();
    const answer = await waitUntil("an answer", async () => {
      const asked = await ask("back again");
      return asked.status === 200 && asked;
    });

    expect(answer.atMs - backAtMs).toBeLessThan(backMs);
    for (const stream of streams) {
      const { code, stage } = stream.errors[0] ?? {};
      expect({ code, stage, isDone: stream.isDone }).toEqual({
        code: "bus_unavailable",
        stage: "decode.streaming",
        isDone: false,
      });
      expect(stream.errors).toHaveLength(1);
      expect(stream.endedAtMs - lostAtMs).toBeGreaterThan(graceMs - 100);
      expect(stream.endedAtMs - lostAtMs).toBeLessThan(graceMs + 1_000);
    }
    await cluster.untilServing("mock");
    await cluster.untilIdle();
    expect(await generationsOf(cluster)).toEqual(generations);
    expect(await cluster.metrics("baton_frontend_requests_total", { code: "worker_lost" })).toBe(0);
  });

  it("finishes streams that an outage of half a second interrupts", async () => {
    const body = { model: "mock", prompt: "through it all", max_tokens: 120 };
    const undisturbed = await ask("through it all", 120);
    const stream = new ApiStream(cluster.api, "completions", body);
    await stream.begun();

    await cluster.nats.restart();
    await stream.over();

    expect(stream.errors).toEqual([]);
    expect(stream.isDone).toBe(true);
    expect(stream.text()).toBe(textOf(undisturbed));
    await cluster.untilIdle();
  });
});

async function generationsOf(cluster: Cluster): Promise<Readonly<Record<string, number>>> {
  const { actors } = await cluster.status();
  return Object.fromEntries(actors.map(({ id, generation }) => [id, generation]));
}

/** Fails with the states that a request went through, as far as they were heard. */
function throwWhere(cluster: Cluster, id: string, cause: unknown): never {
  const states = cluster.watch.states(id).map(({ state }) => state);
  throw new Error(`${id} has no answer; it was ${states.join(", ")}`, { cause });
}
