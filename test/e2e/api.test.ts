import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type Cluster,
  describeWith,
  startCluster,
  workerSpec,
} from "../support/processes/index.ts";

/** One model for each way of serving. */
const models = { disaggregated: "org/relay", aggregated: "alone" } as const;
const modes = Object.keys(models) as (keyof typeof models)[];
const timing = { "mock-prefill-ms": 2, "mock-decode-ms": 1, "block-size": 16 };

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, which the tests spell out.
type Json = any;

async function send(url: string, body?: object) {
  const response = await fetch(
    url,
    body === undefined
      ? {}
      : {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        },
  );
  const text = await response.text();
  return { status: response.status, text, json: (): Json => JSON.parse(text) };
}

/** The chunks of a stream, without its end. */
function chunksOf(text: string): Json[] {
  const data = text.split("\n\n").filter((event) => event.startsWith("data: "));
  expect(data.at(-1)).toBe("data: [DONE]");
  return data.slice(0, -1).map((event) => JSON.parse(event.slice(6)));
}

describeWith(["nats"], "the API over NATS, every actor a process", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({
      model: models.disaggregated,
      flags: timing,
      also: [workerSpec("aggregated", "aggregated-0", models.aggregated, timing)],
    });
  });
  afterAll(() => cluster?.stop());
  afterEach(() => cluster.untilIdle());

  const ask = (path: string, body?: object) => send(`${cluster.api}${path}`, body);
  const complete = (more: object) =>
    ask("/v1/completions", { model: models.aggregated, max_tokens: 12, temperature: 0, ...more });

  describe("several prompts in one body", () => {
    const prompts = ["Which way?", "How far to the relay?", "Who runs?"];

    it.each(modes)("are answered as each alone, %s", async (mode) => {
      const model = models[mode];
      const alone = await Promise.all(
        prompts.map(async (prompt) => (await complete({ model, prompt })).json()),
      );

      const all = (await complete({ model, prompt: prompts })).json();

      const texts = (answer: Json) => answer.choices.map((choice: Json) => choice.text);
      expect(texts(all)).toEqual(alone.flatMap(texts));
      const sum = (field: string) => alone.reduce((total, one) => total + one.usage[field], 0);
      expect(all.usage).toMatchObject({
        prompt_tokens: sum("prompt_tokens"),
        completion_tokens: 36,
      });
    });

    it.each(modes)("are streamed as they are answered in one piece, %s", async (mode) => {
      const body = { model: models[mode], prompt: prompts, n: 2, echo: true, logprobs: 1 };
      const whole = (await complete(body)).json();

      const options = { stream: true, stream_options: { include_usage: true } };
      const chunks = chunksOf((await complete({ ...body, ...options })).text);

      const choices = chunks.flatMap((chunk) => chunk.choices);
      for (const [index, choice] of whole.choices.entries()) {
        const own = choices.filter((one) => one.index === index);
        expect(own.map(({ text }) => text).join("")).toBe(choice.text);
        expect(own.flatMap(({ logprobs }) => logprobs?.tokens ?? [])).toEqual(
          choice.logprobs.tokens,
        );
        expect(choice.text.startsWith(prompts[Math.floor(index / 2)])).toBe(true);
      }
      expect(chunks.at(-1).usage).toMatchObject({
        ...whole.usage,
        prompt_tokens_details: expect.anything(),
      });
    });

    it("fail together where one of them is too long", async () => {
      const answer = await complete({ prompt: ["short", "x ".repeat(200_000)] });

      expect(answer.status).toBe(400);
      expect(answer.json().error.code).toBe("context_length_exceeded");
    });
  });

  it("says how likely the prompt was, the same in both ways of serving", async () => {
    const answers = await Promise.all(
      modes.map(async (mode) => {
        const body = { model: models[mode], prompt: "Which way to the relay?", prompt_logprobs: 1 };
        return (await complete(body)).json();
      }),
    );

    const [first, second] = answers.map(({ choices }) => choices[0].prompt_logprobs);
    expect(first).toHaveLength(answers[0].usage.prompt_tokens);
    expect(first[0]).toBeNull();
    expect(first).toEqual(second);
  });

  it.each(modes)("writes the JSON that is asked for, %s", async (mode) => {
    const schema = {
      type: "object",
      properties: { way: { enum: ["left", "right"] } },
      required: ["way"],
      additionalProperties: false,
    };
    const answer = await ask("/v1/chat/completions", {
      model: models[mode],
      messages: [{ role: "user", content: "Which way?" }],
      temperature: 0,
      max_tokens: 200,
      response_format: { type: "json_schema", json_schema: { name: "way", schema } },
    });

    const { choices } = answer.json();
    expect(JSON.parse(choices[0].message.content)).toEqual({
      way: expect.stringMatching(/^(left|right)$/),
    });
    expect(choices[0].finish_reason).toBe("stop");
  });

  it.each(modes)("takes and gives token ids, streamed or not, %s", async (mode) => {
    const model = models[mode];
    const prompt = "Which way to the relay?";
    const { tokens } = (await ask("/tokenize", { model, prompt })).json();
    const text = (await complete({ model, prompt })).json().choices[0].text;
    const body = {
      model,
      token_ids: tokens,
      sampling_params: { max_tokens: 12, temperature: 0, logprobs: 1 },
    };

    const whole = (await ask("/inference/v1/generate", body)).json();
    const stream = chunksOf((await ask("/inference/v1/generate", { ...body, stream: true })).text);
    const ids = whole.choices[0].token_ids;
    const written = (await ask("/detokenize", { model, tokens: ids })).json();

    expect(written.prompt).toBe(text);
    expect(whole.choices[0].logprobs.content).toHaveLength(ids.length);
    const streamed = stream.flatMap(({ choices }) => choices.flatMap((one: Json) => one.token_ids));
    expect(streamed).toEqual(ids);
    expect(whole.usage).toMatchObject({ prompt_tokens: tokens.length, completion_tokens: 12 });
  });

  it("tokenizes a chat as a request with it counts it", async () => {
    const messages = [{ role: "user", content: "Quelle route ? 한국어 👩‍💻" }];
    const model = models.aggregated;

    const { count, tokens } = (await ask("/tokenize", { model, messages })).json();
    const body = { model, messages, max_tokens: 1 };
    const answer = (await ask("/v1/chat/completions", body)).json();

    expect(count).toBe(answer.usage.prompt_tokens);
    expect((await ask("/detokenize", { model, tokens })).json().prompt).toContain(
      "Quelle route ? 한국어 👩‍💻",
    );
  });

  it("says what each model needs, and describes itself", async () => {
    const ready = (await ask("/v1/models/org%2Frelay/ready")).json();
    const document = (await ask("/openapi.json")).json();

    expect(ready).toMatchObject({
      id: "org/relay",
      ready: true,
      mode: "disaggregated",
      present: ["decode", "prefill"],
      missing: [],
    });
    expect((await ask("/v1/models/org/relay/ready")).json()).toEqual(ready);
    expect((await ask("/health")).json().status).toBe("healthy");
    expect(document.openapi).toBe("3.1.0");
    expect((await ask("/docs")).text).toContain("/inference/v1/generate");
  });
});
