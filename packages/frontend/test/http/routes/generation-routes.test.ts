import { ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { unexplained } from "../../../src/explain/explain-route.ts";
import { eventsOf } from "../../support/api-rig.ts";
import { logprobOf } from "../../support/bodies.ts";
import { answerHello, deltaOf, summary } from "../../support/fake-port.ts";
import { apiRigs } from "../../support/rigs.ts";

const rigWith = apiRigs();
const completion = (changes: object = {}) => ({ model: "m", prompt: ["a", "b"], ...changes });

describe("several prompts in one body", () => {
  it("are answered in one piece, the choices of the first before those of the second", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = (sink, { prompt }) => {
      const text = prompt.kind === "text" ? prompt.text : "";
      sink.output([
        deltaOf(`${text}0`, { choice: 0, finishReason: "stop" }),
        deltaOf(`${text}1`, { choice: 1, finishReason: "length" }),
      ]);
      sink.ended({ kind: "completed", summary });
    };

    const response = await rig.post("/v1/completions", completion({ n: 2 }));

    expect(await response.json()).toMatchObject({
      choices: [
        { index: 0, text: "a0", finish_reason: "stop" },
        { index: 1, text: "a1", finish_reason: "length" },
        { index: 2, text: "b0", finish_reason: "stop" },
        { index: 3, text: "b1", finish_reason: "length" },
      ],
      usage: { prompt_tokens: 14, completion_tokens: 4, total_tokens: 18 },
    });
  });

  it("are streamed as they come, with one usage and one end", async () => {
    const rig = await rigWith();
    const pending = rig.post(
      "/v1/completions",
      completion({ stream: true, stream_options: { include_usage: true } }),
    );
    await rig.port.until(() => rig.port.sinks.length === 2);
    const [first, second] = rig.port.sinks;
    second?.output([deltaOf("B")]);
    first?.output([deltaOf("A", { finishReason: "stop" })]);
    first?.ended({ kind: "completed", summary });
    second?.output([deltaOf("C", { finishReason: "stop" })]);
    second?.ended({ kind: "completed", summary });

    const events = eventsOf(await (await pending).text()).map(([, data]) => data);

    const chunks = events.slice(0, -1).map((data) => JSON.parse(data));
    const texts = chunks.flatMap(({ choices }) =>
      choices.map((one: { index: number; text: string }) => `${one.index}${one.text}`),
    );
    expect(texts).toEqual(["1B", "0A", "0", "1C", "1"]);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 18 } });
    expect(events.at(-1)).toBe("[DONE]");
  });

  it("fail together with one error", async () => {
    const rig = await rigWith();
    const pending = rig.post("/v1/completions", completion({ prompt: ["a", "b", "c"] }));
    await rig.port.until(() => rig.port.sinks.length === 3);
    const error = new ServingError("context_length_exceeded", { param: "prompt" });

    rig.port.sinks[1]?.ended({ kind: "failed", summary: null, stage: "preparing", error });
    const response = await pending;

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: "context_length_exceeded" } });
    expect([rig.port.failed.length, rig.port.cancelled]).toEqual([2, 0]);
  });

  it("are all cancelled when the client leaves", async () => {
    const rig = await rigWith();
    const leave = new AbortController();
    const pending = rig.post("/v1/completions", completion(), { signal: leave.signal });
    await rig.port.until(() => rig.port.requests.length === 2);

    leave.abort();
    await expect(pending).rejects.toThrow();
    await rig.port.until(() => rig.port.cancelled === 2);

    expect([rig.port.failed.length, rig.port.cancelled]).toEqual([0, 2]);
  });
});

describe("a prompt that is wanted back", () => {
  it("stands before the answer, with its logprobs", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = (sink) => {
      const logprobs = [{ ...logprobOf("Q"), logprob: null }];
      sink.began?.({ promptTokens: 1, text: "Q", logprobs });
      sink.output([deltaOf("A", { logprobs: [logprobOf("A")], finishReason: "stop" })]);
      sink.ended({ kind: "completed", summary });
    };

    const body = { model: "m", prompt: "Q", echo: true, logprobs: 0 };
    const response = await rig.post("/v1/completions", body);

    expect(await response.json()).toMatchObject({
      choices: [
        {
          text: "QA",
          logprobs: {
            tokens: ["Q", "A"],
            token_logprobs: [null, -1],
            top_logprobs: [null, { A: -1 }],
            text_offset: [0, 1],
          },
        },
      ],
    });
  });

  it("is all there is where no output is wanted", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = (sink) => {
      sink.began?.({ promptTokens: 7, text: "Q", logprobs: null });
      answerHello(sink);
    };

    const body = { model: "m", prompt: "Q", echo: true, max_tokens: 0 };
    const response = await rig.post("/v1/completions", body);

    expect(rig.port.requests[0]?.output.maxTokens).toBe(1);
    expect(await response.json()).toMatchObject({
      choices: [{ text: "Q", finish_reason: "length" }],
      usage: { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 },
    });
  });
});

describe("token ids in and out", () => {
  it("are answered with ids and the client's own id", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = (sink) => {
      sink.output([deltaOf("Hi", { tokens: [5, 6], finishReason: "length" })]);
      sink.ended({ kind: "completed", summary });
    };

    const response = await rig.post("/inference/v1/generate", {
      model: "m",
      token_ids: [1, 2],
      request_id: "mine",
      sampling_params: { max_tokens: 2 },
    });

    expect(rig.port.requests[0]).toMatchObject({
      prompt: { kind: "tokens", tokens: Uint32Array.of(1, 2) },
      clientRequestId: "mine",
    });
    expect(await response.json()).toMatchObject({
      request_id: "mine",
      choices: [{ index: 0, token_ids: [5, 6], logprobs: null, finish_reason: "length" }],
    });
  });

  it("may leave out the one model there is", async () => {
    const rig = await rigWith();
    rig.port.onSubmit = answerHello;

    const response = await rig.post("/inference/v1/generate", { token_ids: [1], stream: true });
    const [first] = eventsOf(await response.text());

    expect(rig.port.requests[0]?.model).toBe("m");
    expect(JSON.parse(first?.[1] ?? "")).toMatchObject({ choices: [{ token_ids: [] }] });
  });

  it("name fields in errors from below as the body does", async () => {
    const rig = await rigWith();
    const error = new ServingError("unsupported", { param: "n", problem: "n is not supported" });
    rig.port.onSubmit = (sink) =>
      sink.ended({ kind: "failed", summary: null, stage: "preparing", error });

    const response = await rig.post("/inference/v1/generate", { model: "m", token_ids: [1] });

    expect(await response.json()).toMatchObject({
      error: { code: "unsupported", param: "sampling_params.n", message: "n is not supported" },
    });
  });

  it("name them so where only the route is asked for too", async () => {
    const rig = await rigWith();
    const error = new ServingError("context_length_exceeded", { param: "prompt" });
    rig.port.onExplain = (request) => unexplained(request, error, "preparing");

    const response = await rig.post("/inference/v1/generate", {
      model: "m",
      token_ids: [1],
      baton: { query_only: true },
    });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      object: "route",
      error: { code: "context_length_exceeded", param: "token_ids" },
    });
  });
});
