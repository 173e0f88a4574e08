import { once } from "node:events";
import { ServingError } from "@baton/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { ApiServerOptions } from "../../src/http/api-server.ts";
import { ApiRig, chatBody, eventsOf } from "../support/api-rig.ts";
import { answerHello, deltaOf, summary } from "../support/fake-port.ts";

const rigs: ApiRig[] = [];

async function rigWith(options: Partial<ApiServerOptions> = {}): Promise<ApiRig> {
  const rig = await new ApiRig(options).start();
  rigs.push(rig);
  return rig;
}

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.server.stop();
});

describe("an answer in one piece", () => {
  it("is OpenAI's chat completion", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = answerHello;

    const response = await rig.chat();

    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).toMatchObject({
      object: "chat.completion",
      model: "m",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Hello" },
          finish_reason: "stop",
          logprobs: null,
        },
      ],
      usage: {
        prompt_tokens: 7,
        completion_tokens: 2,
        total_tokens: 9,
        prompt_tokens_details: { cached_tokens: 4 },
      },
    });
    expect(body.id).toMatch(/^chatcmpl-req-/);
    expect(body.baton).toBeUndefined();
  });

  it("is OpenAI's text completion for a prompt of text or of tokens", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = answerHello;

    const response = await rig.post("/v1/completions", { model: "m", prompt: [1, 2, 3] });

    expect(await response.json()).toMatchObject({
      object: "text_completion",
      choices: [{ index: 0, text: "Hello", finish_reason: "stop", logprobs: null }],
    });
    expect(rig.port.requests[0]?.prompt).toEqual({
      kind: "tokens",
      tokens: Uint32Array.of(1, 2, 3),
    });
  });

  it("says how it was served if asked", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = answerHello;

    const response = await rig.chat({ baton: { include: ["route", "timing"] } });

    expect(await response.json()).toMatchObject({
      baton: {
        mode: "disaggregated",
        prefill_worker: "p1",
        decode_worker: "d1",
        timing_ms: { received: 0, preparing: 1.5 },
      },
    });
  });
});

describe("a stream", () => {
  it("sends events that join to the answer, role once, usage if asked, and [DONE]", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = answerHello;

    const response = await rig.chat({ stream: true, stream_options: { include_usage: true } });
    const events = eventsOf(await response.text());

    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(events.at(-1)).toEqual(["message", "[DONE]"]);
    const chunks = events.slice(0, -1).map(([, data]) => JSON.parse(data));
    const deltas = chunks.flatMap(({ choices }) =>
      choices.map((one: { delta: object }) => one.delta),
    );
    expect(deltas).toEqual([{ role: "assistant", content: "Hel" }, { content: "lo" }, {}]);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([
      null,
      null,
      "stop",
      undefined,
    ]);
    expect(chunks.map(({ usage }) => usage?.completion_tokens ?? null)).toEqual([
      null,
      null,
      null,
      2,
    ]);
  });

  it("is neither compressed nor kept, whatever the client would take", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = answerHello;

    const response = await rig.post(
      "/v1/chat/completions",
      { ...chatBody, stream: true },
      { headers: { "content-type": "application/json", "accept-encoding": "gzip, br" } },
    );

    expect(response.headers.get("content-encoding")).toBeNull();
    expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("x-request-id")).toMatch(/^req-/);
    expect(await response.text()).toContain("data: [DONE]");
  });

  it("has the route in the last data before [DONE]", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = answerHello;

    const response = await rig.chat({ stream: true, baton: { include: ["route"] } });
    const events = eventsOf(await response.text());

    expect(JSON.parse(events.at(-2)?.[1] ?? "")).toMatchObject({
      choices: [],
      baton: { mode: "disaggregated", prefill_worker: "p1", decode_worker: "d1" },
    });
    expect(JSON.parse(events.at(-2)?.[1] ?? "").baton.timing_ms).toBeUndefined();
  });

  it("answers a failure before the first token with a plain status", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = (sink) =>
      sink.ended({
        kind: "failed",
        summary,
        stage: "prefill.queued",
        error: new ServingError("prefill_activating"),
      });

    const response = await rig.chat({ stream: true });

    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({
      error: {
        code: "prefill_activating",
        type: "server_error",
        stage: "prefill.queued",
        param: null,
        request_id: rig.port.requests[0]?.requestId,
      },
    });
  });

  it("answers a failure after it with one error event and no [DONE]", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = (sink) => {
      sink.output([deltaOf("Hel")]);
      sink.ended({
        kind: "failed",
        summary,
        stage: "decode.streaming",
        error: new ServingError("worker_lost"),
      });
    };

    const response = await rig.chat({ stream: true });
    const events = eventsOf(await response.text());

    expect(response.status).toBe(200);
    expect(events.map(([event]) => event)).toEqual(["message", "error"]);
    expect(JSON.parse(events[1]?.[1] ?? "")).toMatchObject({
      error: { code: "worker_lost", stage: "decode.streaming" },
    });
  });

  it("leaves the connection usable for the next request", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = answerHello;
    const socket = rig.socket();
    const body = JSON.stringify({ ...chatBody, stream: true });
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    let heard = "";
    socket.setEncoding("utf8");

    socket.write(`${head}${body}${head}${body}`);
    while (heard.split("[DONE]").length < 3) heard += (await once(socket, "data"))[0];
    socket.destroy();

    expect(heard.split("HTTP/1.1 200 OK")).toHaveLength(3);
    expect(heard).not.toContain("HTTP/1.1 400");
  });

  it("is written in valid chunks when its parts come apart in time", async () => {
    const rig = await rigWith();
    const pending = rig.chat({ stream: true });
    await rig.port.until(() => rig.port.sinks.length === 1);
    const sink = rig.port.sinks[0];
    sink?.output([deltaOf("é1")]);
    const response = await pending;

    for (const text of ["€2", "😀3", ""]) {
      await new Promise((resolve) => setImmediate(resolve));
      sink?.output([deltaOf(text)]);
    }
    sink?.output([deltaOf("", { finishReason: "length" })]);
    sink?.ended({ kind: "completed", summary });

    const events = eventsOf(await response.text()).slice(0, -1);
    const texts = events.map(([, data]) => JSON.parse(data).choices[0].delta.content ?? "");
    expect(texts.join("")).toBe("é1€2😀3");
    expect(events).toHaveLength(4);
  });
});

describe("a client that leaves", () => {
  it("cancels a stream", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = (sink) => sink.output([deltaOf("Hel")]);
    const leave = new AbortController();
    const response = await rig.post(
      "/v1/chat/completions",
      { ...chatBody, stream: true },
      { signal: leave.signal },
    );
    await response.body?.getReader().read();

    leave.abort();
    await rig.port.until(() => rig.port.cancelled === 1);

    expect(rig.port.cancelled).toBe(1);
  });

  it("cancels an answer that has not begun", async () => {
    const rig = await rigWith();
    const leave = new AbortController();
    const pending = rig.post("/v1/chat/completions", chatBody, { signal: leave.signal });
    await rig.port.until(() => rig.port.requests.length === 1);

    leave.abort();
    await expect(pending).rejects.toThrow();
    await rig.port.until(() => rig.port.cancelled === 1);

    expect(rig.port.cancelled).toBe(1);
  });

  it("cancels what it asked for behind an answer that is under way", async () => {
    const rig = await rigWith();
    const socket = rig.socket();
    const body = JSON.stringify({ ...chatBody, stream: true });
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    socket.write(`${head}${body}`.repeat(3));
    await rig.port.until(() => rig.port.requests.length === 3);

    socket.destroy();
    await rig.port.until(() => rig.port.cancelled === 3);

    expect(rig.port.cancelled).toBe(3);
  });

  it("is cut when it stops reading, and its request is cancelled", async () => {
    const rig = await rigWith({ clientBufferBytes: 10_000 });
    const socket = rig.socket();
    const body = JSON.stringify({ ...chatBody, stream: true });
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await rig.port.until(() => rig.port.requests.length === 1);
    socket.pause();

    const sink = rig.port.sinks[0];
    for (let at = 0; at < 1_000 && rig.cut === 0; at += 1) {
      sink?.output([deltaOf("x".repeat(100_000))]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await rig.port.until(() => rig.port.cancelled === 1);
    socket.destroy();

    expect(rig.cut).toBe(1);
  });
});

describe("ids", () => {
  it("answers with the client's own request id and passes it on", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = answerHello;

    const response = await rig.post("/v1/chat/completions", chatBody, {
      headers: { "content-type": "application/json", "x-request-id": "mine-1" },
    });

    expect(response.headers.get("x-request-id")).toBe("mine-1");
    expect(rig.port.requests[0]?.clientRequestId).toBe("mine-1");
    expect(rig.port.requests[0]?.requestId).not.toBe("mine-1");
  });

  it("answers with one of its own if there is none or an unusable one", async () => {
    const rig = await rigWith();

    const response = await fetch(`${rig.url}/live`, { headers: { "x-request-id": "a b" } });

    expect(response.headers.get("x-request-id")).toMatch(/^req-/);
  });
});

describe("what HTTP refuses", () => {
  const cases: readonly (readonly [
    title: string,
    send: (rig: ApiRig) => Promise<Response>,
    status: number,
    code: string,
  ])[] = [
    ["an unknown path", (rig) => fetch(`${rig.url}/v2/chat`), 404, "route_not_found"],
    ["another method", (rig) => fetch(`${rig.url}/v1/completions`), 405, "method_not_allowed"],
    ["no JSON", (rig) => rig.post("/v1/completions", "{"), 400, "invalid_request"],
    ["an empty body", (rig) => rig.post("/v1/completions", ""), 400, "invalid_request"],
    ["a list", (rig) => rig.post("/v1/completions", "[]"), 400, "invalid_request"],
    ["too large a body", (rig) => rig.chat({ x: "y".repeat(20_000) }), 413, "payload_too_large"],
    [
      "another type",
      (rig) => rig.post("/v1/completions", "x=1", { headers: { "content-type": "text/plain" } }),
      415,
      "unsupported_media_type",
    ],
    ["an unknown model's entry", (rig) => fetch(`${rig.url}/v1/models/x`), 404, "model_not_found"],
    ["a bad field", (rig) => rig.chat({ temperature: "hot" }), 400, "invalid_request"],
    ["an unserved field", (rig) => rig.chat({ tools: [{}] }), 400, "unsupported"],
  ];

  it.each(cases)("%s, in the same shape", async (_title, send, status, code) => {
    const rig = await rigWith();

    const response = await send(rig);

    expect(response.status).toBe(status);
    expect(response.headers.get("x-request-id")).toMatch(/^req-/);
    const body = (await response.json()) as { error: Record<string, unknown> };
    expect(Object.keys(body.error)).toEqual([
      "message",
      "type",
      "param",
      "code",
      "stage",
      "request_id",
    ]);
    expect(body.error).toMatchObject({ code, stage: "received" });
    expect(rig.counted).toEqual([code]);
    expect(rig.port.requests).toEqual([]);
  });

  it("overload with the configured status", async () => {
    const rig = await rigWith({ overloadStatus: 503 });
    rig.port.onSubmit = (sink) =>
      sink.ended({
        kind: "failed",
        summary: null,
        stage: "received",
        error: new ServingError("overloaded"),
      });

    const response = await rig.chat();

    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({
      error: { code: "overloaded", type: "overloaded_error" },
    });
  });

  it("nothing of what went wrong inside is shown", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = (sink) =>
      sink.ended({
        kind: "failed",
        summary: null,
        stage: "preparing",
        error: ServingError.from(new TypeError("x is not a function")),
      });

    const response = await rig.chat();

    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("x is not a function");
  });
});

describe("a client that asks for the head alone", () => {
  it("gets that of the same answer to GET", async () => {
    const rig = await rigWith();
    const whole = await fetch(`${rig.url}/v1/models`);

    const head = await fetch(`${rig.url}/v1/models`, { method: "HEAD" });
    const missing = await fetch(`${rig.url}/v1/models/x`, { method: "HEAD" });

    expect([head.status, missing.status]).toEqual([200, 404]);
    expect(head.headers.get("content-length")).toBe(whole.headers.get("content-length"));
    expect([await head.text(), await missing.text()]).toEqual(["", ""]);
  });

  it("gets 405 where there is no GET", async () => {
    const rig = await rigWith();

    const head = await fetch(`${rig.url}/v1/completions`, { method: "HEAD" });

    expect([head.status, head.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("the other pages", () => {
  it("list the models and say whether they are ready", async () => {
    const rig = await rigWith();

    const list = await (await fetch(`${rig.url}/v1/models`)).json();
    const one = await (await fetch(`${rig.url}/v1/models/m`)).json();

    expect(list).toMatchObject({
      object: "list",
      data: [{ id: "m", object: "model", ready: true }],
    });
    expect(one).toMatchObject({ id: "m", mode: "disaggregated", max_model_len: 64 });
  });

  it("find a model whose name needs escaping", async () => {
    const rig = await new ApiRig({}, [
      { id: "a1", type: "aggregated", model: "org/na me" },
    ]).start();
    rigs.push(rig);

    const escaped = await fetch(`${rig.url}/v1/models/${encodeURIComponent("org/na me")}`);
    const plain = await fetch(`${rig.url}/v1/models/org/na%20me`);

    expect(await escaped.json()).toMatchObject({ id: "org/na me" });
    expect(plain.status).toBe(200);
  });

  it("say whether the Frontend takes requests", async () => {
    const rig = await rigWith();
    expect((await fetch(`${rig.url}/health`)).status).toBe(200);

    rig.why = "draining";
    const health = await fetch(`${rig.url}/health`);

    expect(health.status).toBe(503);
    expect(await health.json()).toMatchObject({ status: "not_ready", why: "draining" });
    expect((await fetch(`${rig.url}/live`)).status).toBe(200);
  });

  it("show the figures", async () => {
    const rig = await rigWith();

    expect(await (await fetch(`${rig.url}/metrics`)).text()).toBe("figures 1\n");
  });
});
