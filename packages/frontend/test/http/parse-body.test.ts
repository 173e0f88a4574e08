import { requestId, ServingError } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { type Endpoint, parseBody } from "../../src/http/parse-body.ts";

const frame = { requestId: requestId("r1"), clientRequestId: null, traceparent: null };
const messages = [{ role: "user", content: "Hi" }];

function chat(changes: object = {}) {
  return parseBody("chat", { model: "m", messages, ...changes }, frame);
}

function completion(changes: object = {}) {
  return parseBody("completions", { model: "m", prompt: "Hi", ...changes }, frame);
}

function refusalOf(endpoint: Endpoint, body: unknown): string {
  try {
    parseBody(endpoint, body, frame);
    return "taken";
  } catch (caught) {
    const error = ServingError.from(caught);
    return `${error.code} ${error.details.param ?? "-"}: ${error.message}`;
  }
}

describe("a chat body", () => {
  it("needs a model and messages and nothing else", () => {
    expect(chat()).toEqual({
      request: {
        ...frame,
        model: "m",
        prompt: { kind: "chat", messages },
        output: { maxTokens: null, n: 1 },
        stop: [],
      },
      wish: {
        stream: false,
        includeUsage: false,
        includeRoute: false,
        includeTiming: false,
        includeWorkerIds: false,
        includeNvextTiming: false,
      },
      query: null,
    });
  });

  it("carries every option to the engine, and leaves out those that say nothing", () => {
    const { request } = chat({
      max_completion_tokens: 5,
      max_tokens: 9,
      min_tokens: 2,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      min_p: 0.1,
      presence_penalty: 1,
      frequency_penalty: -1,
      repetition_penalty: 1.1,
      seed: -1,
      stop: ["a", "b"],
      stop_token_ids: [1],
      ignore_eos: true,
      logit_bias: { "5": -100 },
      logprobs: true,
      top_logprobs: 3,
      n: 2,
    });
    const neutral = chat({
      temperature: 0,
      top_p: 1,
      top_k: -1,
      min_p: 0,
      presence_penalty: 0,
      frequency_penalty: 0,
      repetition_penalty: 1,
      min_tokens: 0,
      logit_bias: {},
      ignore_eos: false,
      stop_token_ids: [],
      logprobs: false,
      n: 1,
    });

    expect(request.stop).toEqual(["a", "b"]);
    expect(request.output).toEqual({
      maxTokens: 5,
      n: 2,
      minTokens: 2,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      minP: 0.1,
      presencePenalty: 1,
      frequencyPenalty: -1,
      repetitionPenalty: 1.1,
      seed: 2 ** 32 - 1,
      stopTokenIds: [1],
      ignoreEos: true,
      logitBias: { "5": -100 },
      logprobs: 3,
    });
    expect(neutral.request.output).toEqual({ maxTokens: null, n: 1, temperature: 0 });
  });

  it("joins text parts, knows the developer, and takes null for absent", () => {
    const { request } = chat({
      messages: [
        {
          role: "developer",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
        { role: "assistant", content: null, tool_calls: [] },
        { role: "user", content: "c", name: "eve" },
      ],
      temperature: null,
      stop: null,
      tools: null,
    });

    expect(request.prompt).toEqual({
      kind: "chat",
      messages: [
        { role: "system", content: "a\nb" },
        { role: "assistant", content: "" },
        { role: "user", content: "c", name: "eve" },
      ],
    });
  });

  it("says in what form the answer is wanted", () => {
    const { wish } = chat({
      stream: true,
      stream_options: { include_usage: true },
      baton: { include: ["timing"], query_only: false },
    });

    expect(wish).toEqual({
      stream: true,
      includeUsage: true,
      includeRoute: false,
      includeTiming: true,
      includeWorkerIds: false,
      includeNvextTiming: false,
    });
  });

  it("ignores fields that cannot change the answer", () => {
    expect(chat({ user: "eve", metadata: { a: "b" }, store: false, whatever: 1 })).toEqual(chat());
  });

  it.each<readonly [string, object, string]>([
    ["no model", { model: undefined }, "invalid_request model: model is required"],
    [
      "no messages",
      { messages: [] },
      "invalid_request messages: messages must hold at least one message",
    ],
    [
      "a role of its own",
      { messages: [{ role: "robot", content: "" }] },
      "invalid_request messages[0].role: messages[0].role must be 'system', 'developer', 'user' or 'assistant'",
    ],
    [
      "content of another kind",
      { messages: [{ role: "user", content: 5 }] },
      "invalid_request messages[0].content: messages[0].content must be a string or an array of content parts",
    ],
    [
      "an image",
      { messages: [{ role: "user", content: [{ type: "image_url" }] }] },
      "unsupported messages[0].content[0]: messages[0].content[0] is of type 'image_url'; only text is supported here",
    ],
    [
      "tool calls",
      { messages: [{ role: "assistant", tool_calls: [{}] }] },
      "unsupported messages[0].tool_calls: messages[0].tool_calls is not supported here",
    ],
    [
      "max_tokens of 0",
      { max_tokens: 0 },
      "invalid_request max_tokens: max_tokens must be at least 1",
    ],
    [
      "half a token",
      { max_tokens: 1.5 },
      "invalid_request max_tokens: max_tokens must be a whole number",
    ],
    ["heat", { temperature: 2.5 }, "invalid_request temperature: temperature must be at most 2"],
    ["a text for a number", { top_p: "1" }, "invalid_request top_p: top_p must be a number"],
    ["an empty stop", { stop: "" }, "invalid_request stop: stop must not be empty"],
    [
      "more at least than at most",
      { min_tokens: 5, max_tokens: 4 },
      "invalid_request min_tokens: min_tokens must not be above max_tokens",
    ],
    [
      "a bias of no token",
      { logit_bias: { a: 1 } },
      "invalid_request logit_bias.a: logit_bias.a must map token ids to numbers",
    ],
    [
      "top_logprobs alone",
      { top_logprobs: 1 },
      "invalid_request top_logprobs: top_logprobs needs logprobs to be true",
    ],
    [
      "stream options without a stream",
      { stream_options: {} },
      "invalid_request stream_options: stream_options needs stream to be true",
    ],
    [
      "an unknown key in baton",
      { baton: { inclued: [] } },
      "invalid_request baton.inclued: baton.inclued is not known",
    ],
    [
      "an unknown part in baton",
      { baton: { include: ["cost"] } },
      "invalid_request baton.include[0]: baton.include[0] must be 'route' or 'timing'",
    ],
    ["tools", { tools: [{ type: "function" }] }, "unsupported tools: tools is not supported here"],
    [
      "JSON output",
      { response_format: { type: "json_object" } },
      "unsupported response_format: response_format is not supported here",
    ],
    [
      "speech",
      { modalities: ["text", "audio"] },
      "unsupported modalities: modalities is not supported here",
    ],
    [
      "a handoff of its own",
      { kv_transfer_params: {} },
      "invalid_request kv_transfer_params: kv_transfer_params is set between the workers and not by clients",
    ],
    [
      "a bootstrap room",
      { bootstrap_room: 1 },
      "invalid_request bootstrap_room: bootstrap_room is set between the workers and not by clients",
    ],
    ["disaggregated_params", { disaggregated_params: null }, "taken"],
  ])("is refused with %s, naming the field", (_title, changes, refusal) => {
    expect(refusalOf("chat", { model: "m", messages, ...changes })).toBe(refusal);
  });

  it("takes what is unserved where it asks for what is the case anyway", () => {
    const neutral = {
      tools: [],
      tool_choice: "none",
      response_format: { type: "text" },
      modalities: ["text"],
      echo: false,
    };

    expect(chat(neutral)).toEqual(chat());
  });

  it.each([[null], ["text"], [5], [[]]])("is refused when it is %j", (body) => {
    expect(refusalOf("chat", body)).toBe("invalid_request -: the body must be a JSON object");
  });

  it("is refused when it holds more values than anybody needs", () => {
    const many = Array.from({ length: 70_000 }, () => 1);

    expect(refusalOf("chat", { model: "m", messages: many })).toBe(
      "invalid_request messages: messages holds more than 65536 values",
    );
    expect(refusalOf("chat", { model: "m", messages, toString: 1, constructor: 1 })).toBe("taken");
  });
});

describe("a completions body", () => {
  it("takes one text or one list of tokens, alone or in a list of one", () => {
    const text = { kind: "text", text: "Hi" };
    const tokens = { kind: "tokens", tokens: Uint32Array.of(1, 2) };

    expect(completion().request.prompt).toEqual(text);
    expect(completion({ prompt: ["Hi"] }).request.prompt).toEqual(text);
    expect(completion({ prompt: [1, 2] }).request.prompt).toEqual(tokens);
    expect(completion({ prompt: [[1, 2]] }).request.prompt).toEqual(tokens);
  });

  it("asks for alternatives by number", () => {
    expect(completion({ logprobs: 0 }).request.output.logprobs).toBe(0);
    expect(completion({ logprobs: 5 }).request.output.logprobs).toBe(5);
    expect(completion().request.output.logprobs).toBeUndefined();
  });

  it.each<readonly [string, object, string]>([
    ["no prompt", { prompt: undefined }, "invalid_request prompt: prompt is required"],
    [
      "an empty list",
      { prompt: [] },
      "invalid_request prompt: prompt must be one string or one array of token ids",
    ],
    [
      "several prompts",
      { prompt: ["a", "b"] },
      "unsupported prompt: prompt must be one prompt; a list of several is not supported here",
    ],
    [
      "a token below 0",
      { prompt: [-1] },
      "invalid_request prompt: prompt must be one string or one array of token ids",
    ],
    ["logprobs of true", { logprobs: true }, "invalid_request logprobs: logprobs must be a number"],
    ["an echo", { echo: true }, "unsupported echo: echo is not supported here"],
    ["the best of several", { best_of: 3 }, "unsupported best_of: best_of is not supported here"],
    ["a suffix", { suffix: "x" }, "unsupported suffix: suffix is not supported here"],
  ])("is refused with %s", (_title, changes, refusal) => {
    expect(refusalOf("completions", { model: "m", prompt: "Hi", ...changes })).toBe(refusal);
  });
});
