import { createHash } from "node:crypto";
import { decode } from "@msgpack/msgpack";
import { connect, type NatsConnection } from "nats";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type ApiAnswer,
  type Cluster,
  describeWith,
  post,
  startCluster,
  textOf,
  waitUntil,
} from "../support/processes/index.ts";

/** A message as any NATS client hears it. */
interface Heard {
  /** What follows `baton.v1.<namespace>.<model>`. */
  readonly place: string;
  readonly message: unknown;
}

const namespace = "a namespace.of *> its own";
const model = "Ünlucky model/№ 1";

/** The token of a name, as `docs/protocol.md` tells: written here once more, from that page alone. */
function tokenOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, 24)
    .replace(/-+$/, "");
  const bits = [...createHash("sha256").update(name, "utf8").digest().subarray(0, 10)]
    .map((byte) => byte.toString(2).padStart(8, "0"))
    .join("");
  const letters = (bits.match(/.{5}/g) ?? []).map(
    (five) => "abcdefghijklmnopqrstuvwxyz234567"[Number.parseInt(five, 2)],
  );
  return `${slug}-${letters.join("")}`;
}

/** Nothing of ours between it and the bus: the `nats` client, a msgpack library and `docs/protocol.md`. */
describeWith(["nats"], "a plain NATS client with a msgpack library", () => {
  let cluster: Cluster;
  let client: NatsConnection;
  const heard: Heard[] = [];

  beforeAll(async () => {
    cluster = await startCluster({
      namespace,
      model,
      flags: { "mock-prefill-ms": 20, "mock-decode-ms": 2, "block-size": 16 },
    });
    client = await connect({ servers: cluster.nats.url });
    client.subscribe("baton.v1.>", {
      callback: (_error, { subject, data }) => {
        const [, , inNamespace, ofModel, ...rest] = subject.split(".");
        if (inNamespace !== tokenOf(namespace)) throw new Error(`a foreign subject: ${subject}`);
        if (ofModel !== tokenOf(model) && ofModel !== "_") return;
        heard.push({ place: rest.join("."), message: data.length === 0 ? null : decode(data) });
      },
    });
    await client.flush();
  });
  afterAll(async () => {
    await client?.close();
    await cluster?.stop();
  });

  /** Places and messages of one request: those that begin with its id, and those that name its stream. */
  function of(requestId: string, prefix: string): readonly unknown[][] {
    return heard
      .filter(({ place }) => place.startsWith(prefix))
      .map(({ message }) => message as unknown[])
      .filter((message) => Array.isArray(message) && message[0] === requestId);
  }

  /** The states of a request, in order: `[requestId, state, atMs, details]`. */
  const statesOf = (requestId: string) =>
    heard
      .filter(({ place }) => place === "frontend.request.transitions")
      .flatMap(({ message }) => message as [string, string, number, Record<string, unknown>][])
      .filter(([id]) => id === requestId);

  it("follows one request through every hop, in order", async () => {
    const prompt = "Follow me from hop to hop. ".repeat(8);
    const answer: ApiAnswer = await post(
      cluster.api,
      "completions",
      { model, prompt, max_tokens: 6, baton: { include: ["route"] } },
      { "x-request-id": "follow-me" },
    );
    const text = textOf(answer);
    const requestId = answer.body.id.replace(/^cmpl-/, "");
    await waitUntil("its end to be told", () =>
      statesOf(requestId).some(([, state]) => state === "completed"),
    );

    const states = statesOf(requestId);
    expect(states.map(([, state]) => state)).toEqual([
      "received",
      "preparing",
      "prefill.queued",
      "prefill.running",
      "decode.routing",
      "handoff",
      "decode.streaming",
      "completed",
    ]);
    expect(states[0]?.[3]).toMatchObject({ clientRequestId: "follow-me" });
    const times = states.map(([, , atMs]) => atMs);
    expect(times).toEqual([...times].sort((left, right) => left - right));

    const [route] = of(requestId, "prefill-router.route-prefill");
    const [prefill] = of(requestId, "worker.prefill.prefill-0");
    const [done] = of(requestId, "frontend.prefilled.frontend");
    const [routeDecode] = of(requestId, "decode-router.route-decode");
    const [decodeCommand] = of(requestId, "worker.decode.decode-0");
    if (route === undefined || done === undefined) throw new Error("hops are missing");
    const stream = route[3];
    const promptTokens = answer.body.usage.prompt_tokens;
    // route-prefill: …, timeoutMs, promptTokens, blockHashes, sequenceHashes, rules, work, traceparent
    expect(route[5]).toBe(promptTokens);
    expect((route[6] as Uint8Array).length).toBe(Math.floor(promptTokens / 16) * 8);
    const [tokens, params] = decode(route[9] as Uint8Array) as [Uint8Array, { maxTokens: number }];
    expect(tokens.length).toBe(promptTokens * 4);
    expect(params.maxTokens).toBe(6);
    // prefill-done: …, workerId, generation, handoff, firstTokens, finishReasons, promptTokens, …
    expect(done[4]).toBe("prefill-0");
    expect(done[9]).toBe(promptTokens);

    const frames = heard
      .filter(({ place }) => place === "frontend.tokens.frontend")
      .map(({ message }) => message as [string, number, number, number, unknown[][]]);
    const entries = frames.flatMap(([, , , , all]) => all).filter(([of_]) => of_ === stream);
    const ids = entries.flatMap((entry) => entry[3] as number[]);
    // Steps that follow each other within a millisecond share a frame, and their tokens an entry.
    const offsets = entries.flatMap((entry) =>
      (entry[3] as number[]).map((_, i) => Number(entry[2]) + i),
    );
    expect(offsets).toEqual([0, 1, 2, 3, 4, 5]);
    expect(ids).toHaveLength(6);
    expect(entries.at(-1)?.[5]).toEqual(["length", expect.any(Number)]);
    expect(text).not.toBe("");

    const order = [
      ["prefill-router.route-prefill", route],
      ["worker.prefill.prefill-0", prefill],
      ["frontend.prefilled.frontend", done],
      ["decode-router.route-decode", routeDecode],
      ["worker.decode.decode-0", decodeCommand],
    ].map(([, message]) => heard.findIndex((one) => one.message === message));
    const firstFrame = heard.findIndex(({ message }) => message === frames[0]);
    const hops = [...order, firstFrame];
    expect(hops).toEqual([...hops].sort((left, right) => left - right));
  });

  it("hears who booked and dispatched it, and what changed in the caches", async () => {
    const prompt = "Something that no cache has seen. ".repeat(8);
    const answer = await post(cluster.api, "completions", { model, prompt, max_tokens: 3 });
    const requestId = answer.body.id.replace(/^cmpl-/, "");

    await waitUntil("both dispatch notices", () => {
      return of(requestId, "frontend.dispatched.frontend").length === 2;
    });
    const legs = of(requestId, "frontend.dispatched.frontend").map((notice) => notice[4]);
    expect(legs).toEqual(["prefill", "decode"]);
    expect(of(requestId, "prefill-router.booked")).toHaveLength(1);
    expect(of(requestId, "decode-router.booked")).toHaveLength(1);

    const batches = await waitUntil("the feed of the aggregator", () => {
      const changed = heard.filter(({ place }) => place === "worker.kv.changed.prefill-0");
      const feed = heard.filter(({ place }) => place === "kv-event-aggregator.kv.feed");
      return changed.length > 0 && feed.length > 0 && { changed, feed };
    });
    // kv-events: [workerId, generation, dpRank, sequence, …]
    const sequences = batches.changed.map(({ message }) => (message as number[])[3] ?? 0);
    expect(sequences).toEqual(sequences.map((_, index) => (sequences[0] ?? 0) + index));
  });

  it("sees a failure with its stage and code", async () => {
    const answered = post(
      cluster.api,
      "completions",
      { model, prompt: "Doomed. ".repeat(400), max_tokens: 400 },
      { "x-request-id": "doomed" },
    );
    await cluster.watch.untilState("doomed", "decode.streaming");
    await cluster.end("decode-0", "SIGKILL");
    const { body } = await answered;

    const last = await waitUntil("the end to be told", () =>
      statesOf(body.error.request_id).find(([, state]) => state === "failed"),
    );
    expect(last[3]).toMatchObject({ stage: "decode.streaming", code: "worker_lost" });
    expect(body.error).toMatchObject({ stage: "decode.streaming", code: "worker_lost" });
  });
});
