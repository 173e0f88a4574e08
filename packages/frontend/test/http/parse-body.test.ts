import { describe, expect, it } from "vitest";
import { bodyParser, bodyFrame as frame, plainWish, refusalOf } from "../support/bodies.ts";

const messages = [{ role: "user", content: "Hi" }];

function parsed(endpoint: "chat" | "completions", body: object) {
  const { requests, ...rest } = bodyParser.parse(endpoint, body, frame);
  return { request: requests[0], requests, ...rest };
}

const chat = (changes: object = {}) => parsed("chat", { model: "m", messages, ...changes });
const completion = (changes: object = {}) =>
  parsed("completions", { model: "m", prompt: "Hi", ...changes });
describe("a chat body", () => {
  it("needs a model and messages and nothing else", () => {
    const { requests, wish, query } = chat();
    expect(requests).toEqual([
      {
        ...frame,
        model: "m",
        prompt: { kind: "chat", messages },
        output: { maxTokens: null, n: 1 },
        stop: [],
      },
    ]);
    expect(wish).toEqual(plainWish);
    expect(query).toBeNull();
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
      prompt_logprobs: 1,
      n: 2,
      response_format: { type: "json_object" },
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
      top_logprobs: 0,
      n: 1,
      response_format: { type: "text" },
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
      promptLogprobs: 1,
      grammar: { kind: "json" },
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
      stream_options: { include_usage: true, continuous_usage_stats: true },
      baton: { include: ["timing"], query_only: false },
    });

    expect(wish).toEqual({
      ...plainWish,
      stream: true,
      includeUsage: true,
      continuousUsage: true,
      includeTiming: true,
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
      "a tool's turn",
      { messages: [{ role: "tool", content: "", tool_call_id: "t" }] },
      "unsupported messages[0].role: messages[0].role of 'tool' is not supported here",
    ],
    [
      "a user's turn without content",
      { messages: [{ role: "user" }] },
      "invalid_request messages[0].content: messages[0].content is required",
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
      "half a character as a stop",
      { stop: ["a", "\ud83d"] },
      "invalid_request stop[1]: stop[1] must be well-formed Unicode",
    ],
    [
      "more stops than OpenAI takes",
      { stop: ["a", "b", "c", "d", "e"] },
      "invalid_request stop: stop must hold at most 4 texts",
    ],
    [
      "stops of another kind",
      { stop: 5 },
      "invalid_request stop: stop must be a string or an array of strings",
    ],
    [
      "more at least than at most",
      { min_tokens: 5, max_tokens: 4 },
      "invalid_request min_tokens: min_tokens must not be above max_tokens",
    ],
    [
      "a bias of no token",
      { logit_bias: { a: 1 } },
      "invalid_request logit_bias: logit_bias must have token ids as keys",
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
      "output of another form",
      { response_format: { type: "structural_tag" } },
      "invalid_request response_format.type: response_format.type must be 'text', 'json_object' or 'json_schema'",
    ],
    [
      "a form without its schema",
      { response_format: { type: "json_schema" } },
      "invalid_request response_format.json_schema: response_format.json_schema is required",
    ],
    [
      "a schema of no name",
      { response_format: { type: "json_schema", json_schema: { schema: {} } } },
      "invalid_request response_format.json_schema.name: response_format.json_schema.name is required",
    ],
    [
      "usage in every event but not at the end",
      { stream: true, stream_options: { continuous_usage_stats: true } },
      "invalid_request stream_options.continuous_usage_stats: stream_options.continuous_usage_stats needs include_usage to be true",
    ],
    [
      "an option of streams that there is not",
      { stream: true, stream_options: { usage: true } },
      "invalid_request stream_options.usage: stream_options.usage is not known",
    ],
    [
      "the prompt's logprobs in a stream",
      { stream: true, prompt_logprobs: 1 },
      "invalid_request prompt_logprobs: prompt_logprobs needs stream to be false",
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

  it("passes on a JSON schema as its text", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const json_schema = { name: "n", description: "d", schema, strict: true };

    const { request } = chat({ response_format: { type: "json_schema", json_schema } });

    expect(request.output.grammar).toEqual({
      kind: "json_schema",
      schema: JSON.stringify(schema),
    });
  });

  it("is refused with a schema that is too deep or too long to be meant", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(100)}{}${"}".repeat(100)}`);
    const refusing = (schema: object) =>
      refusalOf("chat", {
        model: "m",
        messages,
        response_format: { type: "json_schema", json_schema: { name: "n", schema } },
      });
    const field = "response_format.json_schema.schema";

    expect(refusing(deep)).toBe(
      `invalid_request ${field}: ${field} must be at most 64 levels deep`,
    );
    expect(refusing({ a: "b".repeat(70_000) })).toBe(
      `invalid_request ${field}: ${field} must be at most 65536 characters`,
    );
  });

  it("takes a top_p of 0 for the likeliest token alone", () => {
    expect(chat({ top_p: 0 }).request.output.topP).toBe(1e-9);
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

  it("is a request for each of its prompts, alike but for the id", () => {
    const { requests } = completion({ prompt: ["a", "b"], n: 2, temperature: 0 });
    const ids = completion({ prompt: [[1], [2, 3], [4]] }).requests;

    expect(requests.map(({ requestId, prompt }) => [requestId, prompt])).toEqual([
      ["r1", { kind: "text", text: "a" }],
      ["r1-1", { kind: "text", text: "b" }],
    ]);
    expect(requests[1]).toEqual({
      ...requests[0],
      requestId: "r1-1",
      prompt: { kind: "text", text: "b" },
    });
    expect(ids.map(({ prompt }) => prompt)).toEqual(
      [[1], [2, 3], [4]].map((one) => ({ kind: "tokens", tokens: Uint32Array.from(one) })),
    );
  });

  it("has as many tokens as OpenAI's if it does not say", () => {
    expect(completion().request.output.maxTokens).toBe(16);
    expect(completion({ max_tokens: 3 }).request.output.maxTokens).toBe(3);
  });

  it("may want its prompt back, with logprobs, and nothing else", () => {
    const echo = completion({ echo: true, logprobs: 2 });
    const alone = completion({ echo: true, max_tokens: 0 });

    expect(echo.request).toMatchObject({
      output: { logprobs: 2, promptLogprobs: 2 },
      returns: { promptText: true, tokens: false },
    });
    expect(echo.wish).toEqual({ ...plainWish, echo: true });
    expect(alone.request.output).toEqual({ maxTokens: 1, n: 1 });
    expect(alone.wish).toEqual({ ...plainWish, echo: true, echoOnly: true });
  });

  it("may want the logprobs of its prompt by number", () => {
    const { request, wish } = completion({ prompt_logprobs: 3, echo: true, logprobs: 1 });

    expect(request.output).toMatchObject({ promptLogprobs: 3, logprobs: 1 });
    expect(wish).toEqual({ ...plainWish, echo: true, includePromptLogprobs: true });
  });

  it("takes best_of where it asks for no more than n", () => {
    expect(completion({ best_of: 2, n: 2 }).request).toEqual(completion({ n: 2 }).request);
  });

  it("asks for alternatives by number", () => {
    expect(completion({ logprobs: 0 }).request.output.logprobs).toBe(0);
    expect(completion({ logprobs: 5 }).request.output.logprobs).toBe(5);
    expect(completion().request.output.logprobs).toBeUndefined();
  });

  it.each<readonly [string, object, string]>([
    ["no prompt", { prompt: undefined }, "invalid_request prompt: prompt is required"],
    ["an empty list", { prompt: [] }, "invalid_request prompt: prompt must not be empty"],
    [
      "more prompts than are taken",
      { prompt: Array.from({ length: 65 }, () => "a") },
      "invalid_request prompt: prompt must hold at most 64 prompts",
    ],
    [
      "prompts of two kinds",
      { prompt: ["a", [1]] },
      "invalid_request prompt: prompt must be a string, an array of strings, an array of token ids or an array of those",
    ],
    [
      "a prompt without tokens",
      { prompt: [[1], []] },
      "invalid_request prompt: prompt must be a string, an array of strings, an array of token ids or an array of those",
    ],
    [
      "a token below 0",
      { prompt: [1, -1] },
      "invalid_request prompt: prompt must hold token ids, and [1] is none",
    ],
    [
      "no output and no echo",
      { max_tokens: 0 },
      "invalid_request max_tokens: max_tokens must be at least 1 unless echo is true",
    ],
    [
      "a route of several prompts",
      { prompt: ["a", "b"], baton: { query_only: true } },
      "invalid_request prompt: prompt must be one prompt where only the route is asked for",
    ],
    ["logprobs of true", { logprobs: true }, "invalid_request logprobs: logprobs must be a number"],
    [
      "the best of several",
      { best_of: 3 },
      "unsupported best_of: best_of is not supported here: ask for as many choices with n, and choose by their logprobs",
    ],
    ["a suffix", { suffix: "x" }, "unsupported suffix: suffix is not supported here"],
  ])("is refused with %s", (_title, changes, refusal) => {
    expect(refusalOf("completions", { model: "m", prompt: "Hi", ...changes })).toBe(refusal);
  });
});
