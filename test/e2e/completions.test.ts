import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import {
  ApiStream,
  type Cluster,
  describeWith,
  post,
  startCluster,
  textOf,
  workerSpec,
} from "../support/processes/index.ts";

/** One model for each way of serving, all behind one Frontend. The names are what people really write. */
const models = {
  disaggregated: "acme/relay.v1 *> é",
  aggregated: "alone",
  "decode-only": "decode.only",
} as const;
type Mode = keyof typeof models;
const modes = Object.keys(models) as Mode[];
const timing = { "mock-prefill-ms": 2, "mock-decode-ms": 1, "block-size": 16 };
const mockWords = /^([0-9a-f]{8})-0(?: \1-\d+)*/;

describeWith(["nats"], "completions over NATS, every actor a process", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({
      model: models.disaggregated,
      flags: timing,
      also: [
        workerSpec("aggregated", "aggregated-0", models.aggregated, timing),
        workerSpec("decode", "decode-only-0", models["decode-only"], {
          ...timing,
          "decode-only": true,
        }),
      ],
    });
  });
  afterAll(() => cluster?.stop());
  afterEach(() => cluster.untilIdle());

  const chat = (mode: Mode, more: Record<string, unknown> = {}) => ({
    model: models[mode],
    messages: [{ role: "user", content: "Which way to the relay?" }],
    max_tokens: 40,
    temperature: 0,
    ...more,
  });
  const text = (mode: Mode, more: Record<string, unknown> = {}) => ({
    model: models[mode],
    prompt: "Which way to the relay?",
    max_tokens: 40,
    temperature: 0,
    ...more,
  });

  it("answers a chat with the same text and usage in the three modes", async () => {
    const answers = await Promise.all(
      modes.map((mode) =>
        post(cluster.api, "chat/completions", chat(mode, { baton: { include: ["route"] } })),
      ),
    );

    const [first] = answers;
    if (first === undefined) throw new Error("no answer");
    expect(textOf(first)).toMatch(mockWords);
    for (const [index, answer] of answers.entries()) {
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        id: expect.stringMatching(/^chatcmpl-/),
        object: "chat.completion",
        created: expect.any(Number),
        model: models[modes[index] as Mode],
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: textOf(first), refusal: null },
            logprobs: null,
            finish_reason: "length",
          },
        ],
        usage: {
          prompt_tokens: first.body.usage.prompt_tokens,
          completion_tokens: 40,
          total_tokens: first.body.usage.prompt_tokens + 40,
          prompt_tokens_details: { cached_tokens: 0 },
        },
        baton: expect.anything(),
      });
    }
    expect(answers.map(({ body }) => body.baton)).toEqual([
      { mode: "disaggregated", prefill_worker: "prefill-0", decode_worker: "decode-0" },
      { mode: "aggregated", prefill_worker: null, decode_worker: "aggregated-0" },
      { mode: "decode-only", prefill_worker: null, decode_worker: "decode-only-0" },
    ]);
  });

  it.each(modes)("streams what it answers in one piece, %s", async (mode) => {
    for (const [endpoint, body] of [
      ["chat/completions", chat(mode)],
      ["completions", text(mode)],
    ] as const) {
      const whole = await post(cluster.api, endpoint, body);
      const stream = await new ApiStream(cluster.api, endpoint, {
        ...body,
        stream_options: { include_usage: true },
        baton: { include: ["route", "timing"] },
      }).over();

      expect(stream.status).toBe(200);
      expect(stream.text()).toBe(textOf(whole));
      expect(stream.errors).toEqual([]);
      expect(stream.events.at(-1)).toEqual({ event: "message", data: "[DONE]" });
      const last = stream.chunks.at(-1);
      expect(last?.baton?.mode).toBe(mode);
      expect(last?.usage.completion_tokens).toBe(whole.body.usage.completion_tokens);
      expect(last?.usage.prompt_tokens).toBe(whole.body.usage.prompt_tokens);
      const ends = stream.chunks.flatMap(({ choices }) => choices.map((one) => one.finish_reason));
      expect(ends.filter((reason) => reason !== null)).toEqual(["length"]);
    }
  });

  it("says where the time of each mode went, state by state", async () => {
    const passed = async (mode: Mode) => {
      const body = chat(mode, { baton: { include: ["timing"] } });
      const answer = await post(cluster.api, "chat/completions", body);
      return Object.keys(answer.body.baton?.timing_ms ?? {});
    };
    const begin = ["received", "preparing"];
    const decode = [...begin, "decode.queued", "decode.running", "decode.streaming"];

    expect(await passed("disaggregated")).toEqual([
      ...begin,
      "prefill.queued",
      "prefill.running",
      "decode.routing",
      "handoff",
      "decode.streaming",
    ]);
    expect(await passed("aggregated")).toEqual(decode);
    expect(await passed("decode-only")).toEqual(decode);
  });

  it("gives the same logprobs and choices with and without disaggregation", async () => {
    const ask = (mode: Mode) =>
      post(
        cluster.api,
        "chat/completions",
        chat(mode, {
          n: 2,
          seed: 7,
          temperature: 1,
          max_tokens: 12,
          logprobs: true,
          top_logprobs: 2,
        }),
      );

    const [relayed, alone] = await Promise.all([ask("disaggregated"), ask("aggregated")]);

    expect(relayed.status).toBe(200);
    expect(relayed.body.choices).toHaveLength(2);
    expect(relayed.body.choices).toEqual(alone.body.choices);
    expect(relayed.body.usage.completion_tokens).toBe(24);
  });

  it("reports as cached what prefill found, however the answer was made", async () => {
    const prompt = `Once more, and longer this time: ${"the relay runs on and on. ".repeat(12)}`;
    const cached = async (mode: Mode) => {
      await post(cluster.api, "completions", text(mode, { prompt, max_tokens: 4 }));
      await cluster.untilIdle();
      const again = await post(cluster.api, "completions", text(mode, { prompt, max_tokens: 4 }));
      return again.body.usage;
    };

    const relayed = await cached("disaggregated");

    expect(relayed.prompt_tokens_details.cached_tokens).toBeGreaterThan(0);
    expect(await cached("aggregated")).toEqual(relayed);
    expect(await cached("decode-only")).toEqual(relayed);
  });

  it("ends with prefill when one token is wanted, and asks no decode worker", async () => {
    const before = await cluster.metrics("baton_worker_decodes_started_total", { id: "decode-0" });

    const answer = await post(
      cluster.api,
      "chat/completions",
      chat("disaggregated", { max_tokens: 1, baton: { include: ["route"] } }),
    );

    expect(answer.body.usage.completion_tokens).toBe(1);
    expect(answer.body.baton).toEqual({
      mode: "disaggregated",
      prefill_worker: "prefill-0",
      decode_worker: null,
    });
    const after = await cluster.metrics("baton_worker_decodes_started_total", { id: "decode-0" });
    expect(after).toBe(before);
  });

  it("cuts the text at a stop string, streamed or not", async () => {
    const whole = await post(cluster.api, "chat/completions", chat("disaggregated"));
    const [word = ""] = mockWords.exec(textOf(whole)) ?? [];
    const stop = ` ${word.slice(0, 8)}-3`;

    const cut = await post(cluster.api, "chat/completions", chat("disaggregated", { stop }));
    const stream = await new ApiStream(
      cluster.api,
      "chat/completions",
      chat("disaggregated", { stop }),
    ).over();

    expect(textOf(cut)).toBe(textOf(whole).slice(0, textOf(whole).indexOf(stop)));
    expect(cut.body.choices[0]?.finish_reason).toBe("stop");
    expect(stream.text()).toBe(textOf(cut));
  });

  it("puts no foreign token into any of 48 answers at once", async () => {
    const prompts = Array.from({ length: 48 }, (_, index) => `Runner number ${index}, go!`);
    const ask = (prompt: string, index: number) =>
      post(cluster.api, "completions", text(modes[index % 3] as Mode, { prompt, max_tokens: 60 }));
    const alone: string[] = [];
    for (const [index, prompt] of prompts.entries()) alone.push(textOf(await ask(prompt, index)));

    const together = await Promise.all(prompts.map(ask));

    expect(together.map((answer) => textOf(answer))).toEqual(alone);
    expect(new Set(alone).size).toBe(prompts.length);
  });

  it("echoes the client's request id and keeps its own inside", async () => {
    const answer = await post(cluster.api, "chat/completions", chat("aggregated"), {
      "x-request-id": "client-17",
    });

    expect(answer.headers.get("x-request-id")).toBe("client-17");
    expect(answer.body.id).not.toContain("client-17");
  });

  it.each([
    ["an unknown model", { model: "nobody" }, 404, "model_not_found", "not_found_error"],
    [
      "a field of the wrong type",
      { max_tokens: "9" },
      400,
      "invalid_request",
      "invalid_request_error",
    ],
    [
      "an unknown key of baton",
      { baton: { nope: 1 } },
      400,
      "invalid_request",
      "invalid_request_error",
    ],
    [
      "a foreign handoff",
      { kv_transfer_params: {} },
      400,
      "invalid_request",
      "invalid_request_error",
    ],
    [
      "more than the context",
      { max_tokens: 2 ** 20 },
      400,
      "context_length_exceeded",
      "invalid_request_error",
    ],
  ])("refuses %s", async (_what, more, status, code, type) => {
    const answer = await post(cluster.api, "chat/completions", chat("disaggregated", more));

    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({
      error: expect.objectContaining({
        code,
        type,
        message: expect.any(String),
        stage: expect.stringMatching(/^(received|preparing)$/),
        request_id: answer.headers.get("x-request-id"),
      }),
    });
  });

  it("refuses what is no request of its API, in the same words", async () => {
    const broken = await post(cluster.api, "chat/completions", "{");
    const media = await post(cluster.api, "chat/completions", "x", {
      "content-type": "text/plain",
    });
    const method = await fetch(`${cluster.api}/v1/completions`);
    const path = await fetch(`${cluster.api}/v2/completions`);

    const codes = [broken.body, media.body, await method.json(), await path.json()].map(
      (body) => (body as { readonly error: { readonly code: string } }).error.code,
    );
    expect([broken.status, media.status, method.status, path.status]).toEqual([400, 415, 405, 404]);
    expect(codes).toEqual([
      "invalid_request",
      "unsupported_media_type",
      "method_not_allowed",
      "route_not_found",
    ]);
  });
});
