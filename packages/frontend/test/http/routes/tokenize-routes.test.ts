import { describe, expect, it } from "vitest";
import { apiRigs } from "../../support/rigs.ts";

const rigWith = apiRigs();
interface Answer {
  readonly tokens: number[];
  readonly error: { readonly code: string; readonly param: string; readonly message: string };
}

const messages = [{ role: "user", content: "Hé" }];

async function post(path: string, body: unknown, models = ["m"]) {
  const rig = await rigWith(
    {},
    models.map((model, index) => ({ id: `a${index}`, type: "aggregated", model })),
  );
  const response = await rig.post(path, body);
  return { status: response.status, body: (await response.json()) as Answer };
}

describe("tokenizing", () => {
  it("gives the tokens of a prompt, and their texts if they are wanted", async () => {
    expect(await post("/tokenize", { model: "m", prompt: "Hé" })).toEqual({
      status: 200,
      body: { count: 3, max_model_len: 64, tokens: [72, 0xc3, 0xa9], token_strs: null },
    });
    expect((await post("/tokenize", { prompt: "Hé", return_token_strs: true })).body).toMatchObject(
      {
        token_strs: ["H", "\ufffd", "\ufffd"],
      },
    );
  });

  it("gives the tokens that a chat has, with the beginning of the answer or without", async () => {
    const text = async (changes: object) => {
      const { body } = await post("/tokenize", { model: "m", messages, ...changes });
      return Buffer.from(body.tokens).toString();
    };

    expect(await text({})).toBe("user:Hé\nassistant:");
    expect(await text({ add_generation_prompt: false })).toBe("user:Hé\n");
  });

  it("puts special tokens around a prompt, and around a chat if that is wanted", async () => {
    const count = async (body: object) => (await post("/tokenize", body)).body.tokens[0];

    expect(await count({ prompt: "<", add_special_tokens: false })).toBe(60);
    expect(await count({ prompt: "<" })).toBe(60);
    expect(await count({ messages, add_special_tokens: true })).toBe(117);
  });

  it.each<readonly [string, object, string]>([
    ["nothing", {}, "invalid_request prompt: prompt is required"],
    [
      "a prompt and messages",
      { prompt: "a", messages },
      "invalid_request messages: messages and prompt exclude each other",
    ],
    [
      "an answer begun to a prompt",
      { prompt: "a", add_generation_prompt: true },
      "invalid_request add_generation_prompt: add_generation_prompt needs messages",
    ],
    ["tools", { messages, tools: [{}] }, "unsupported tools: tools is not supported here"],
    [
      "an unknown model",
      { model: "x", prompt: "a" },
      "model_not_found model: the model 'x' does not exist; served here: m",
    ],
  ])("is refused with %s", async (_title, body, refusal) => {
    const { error } = (await post("/tokenize", body)).body;

    expect(`${error.code} ${error.param}: ${error.message}`).toBe(refusal);
  });

  it("is not ready where a model that is not named may still come", async () => {
    expect(await post("/tokenize", { prompt: "a" }, [])).toMatchObject({
      status: 503,
      body: { error: { code: "not_ready", why: { code: "no_workers" } } },
    });
  });

  it("needs a model where there are several", async () => {
    expect(await post("/tokenize", { prompt: "a" }, ["m", "n"])).toMatchObject({
      status: 400,
      body: { error: { param: "model", message: "model is required" } },
    });
  });
});

describe("detokenizing", () => {
  it("gives the text of tokens", async () => {
    expect(await post("/detokenize", { model: "m", tokens: [72, 0xc3, 0xa9] })).toEqual({
      status: 200,
      body: { prompt: "Hé" },
    });
    expect((await post("/detokenize", { tokens: [] })).body).toEqual({ prompt: "" });
  });

  it.each<readonly [string, unknown, string]>([
    ["no tokens", undefined, "tokens is required"],
    ["text", "Hi", "tokens must be an array of token ids"],
    ["half a token", [1, 0.5], "tokens must hold token ids, and [1] is none"],
    ["a stranger", [1, 256], "tokens holds 256; the model's vocabulary ends at 255"],
  ])("is refused with %s", async (_title, tokens, message) => {
    expect(await post("/detokenize", { tokens })).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_request", param: "tokens", message } },
    });
  });
});
