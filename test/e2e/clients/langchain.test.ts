import { ChatOpenAI, OpenAI } from "@langchain/openai";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import {
  ApiStream,
  type Cluster,
  describeWith,
  post,
  textOf,
  waitUntil,
} from "../../support/processes/index.ts";
import { model, narrow, startClientCluster } from "./client-cluster.ts";

const prompt = "Which way to the relay?";
const messages = [{ role: "user", content: prompt }];
const endless = { max_tokens: 60_000, ignore_eos: true };

describeWith(["nats"], "LangChain for Node", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startClientCluster();
  });
  afterAll(() => cluster?.stop());
  afterEach(() => cluster.untilIdle());

  type Fields = NonNullable<ConstructorParameters<typeof ChatOpenAI>[0]>;
  const options = (api = cluster.api) => ({
    model,
    apiKey: "none",
    configuration: { baseURL: `${api}/v1` },
    maxRetries: 0,
    maxTokens: 12,
    temperature: 0,
  });
  const chat = (more: Partial<Fields> = {}, api?: string) =>
    new ChatOpenAI({ ...options(api), ...more });
  const whole = async () =>
    textOf(
      await post(cluster.api, "chat/completions", {
        ...{ model, messages, max_tokens: 12, temperature: 0 },
      }),
    );

  it("chats in one piece", async () => {
    const answer = await chat().invoke(prompt);

    expect(answer.content).toBe(await whole());
    expect(answer.usage_metadata).toMatchObject({ input_tokens: 15, output_tokens: 12 });
    expect(answer.response_metadata).toMatchObject({ finish_reason: "length", model_name: model });
  });

  it("streams a chat, with what was used at its end", async () => {
    const texts: unknown[] = [];
    const used: unknown[] = [];
    for await (const chunk of await chat().stream(prompt)) {
      texts.push(chunk.content);
      if (chunk.usage_metadata !== undefined) used.push(chunk.usage_metadata);
    }

    expect(texts.join("")).toBe(await whole());
    expect(used).toMatchObject([{ input_tokens: 15, output_tokens: 12, total_tokens: 27 }]);
  });

  it("chats of many things at once", async () => {
    const answers = await chat().batch([prompt, "Who runs?", prompt]);

    const [first, other, third] = answers.map(({ content }) => content);
    expect(first).toBe(await whole());
    expect(third).toBe(first);
    expect(other).not.toBe(first);
  });

  it("completes texts, streamed or not", async () => {
    const body = { model, prompt, max_tokens: 12, temperature: 0 };
    const text = textOf(await post(cluster.api, "completions", body));
    const completions = new OpenAI(options());

    const streamed: string[] = [];
    for await (const chunk of await completions.stream(prompt)) streamed.push(chunk);

    expect(await completions.invoke(prompt)).toBe(text);
    expect(streamed.join("")).toBe(text);
  });

  it.each(["jsonSchema", "jsonMode"] as const)("has answers in a form, by %s", async (method) => {
    const way = z.object({ way: z.enum(["left", "right"]), miles: z.number() });
    const anything = z.record(z.string(), z.unknown());
    const schema: z.ZodType<Record<string, unknown>> = method === "jsonSchema" ? way : anything;

    const answer = await chat({ maxTokens: 300 })
      .withStructuredOutput(schema, { method })
      .invoke(prompt);

    expect(schema.parse(answer)).toEqual(answer);
  });

  it("sends fields that it does not know, and gives logprobs", async () => {
    const answer = await chat({
      logprobs: true,
      topLogprobs: 2,
      modelKwargs: { min_p: 0.1, top_k: 5, ignore_eos: true, nvext: { cache_salt: "tenant" } },
    }).invoke(prompt);

    expect(answer.content).toBe(await whole());
    const { content } = answer.response_metadata.logprobs as { content: readonly object[] };
    expect(content).toHaveLength(12);
  });

  it("tells of errors as openai's, with the status", async () => {
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];

    await expect(chat({ model: "gpt-9" }).invoke(prompt)).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      lc_error_code: "MODEL_NOT_FOUND",
    });
    await expect(chat({ temperature: 9 }).invoke(prompt)).rejects.toMatchObject({
      status: 400,
      param: "temperature",
    });
    await expect(chat().bindTools(tools).invoke(prompt)).rejects.toMatchObject({
      status: 400,
      code: "unsupported",
      param: "tools",
    });
  });

  it("frees all when a program aborts a stream", async () => {
    const leave = new AbortController();
    const stream = await chat({ maxTokens: 60_000 }).stream(prompt, { signal: leave.signal });

    await expect(
      (async () => {
        for await (const _ of stream) leave.abort();
      })(),
    ).rejects.toThrow();

    await cluster.untilIdle();
  });

  it("asks again by itself where there was no room", async () => {
    const api = cluster.apiOf(narrow);
    const refusals = () =>
      cluster.metrics("baton_frontend_requests_total", { id: narrow, code: "overloaded" });
    const holder = new ApiStream(api, "completions", { model, prompt, ...endless });
    await holder.begun();
    const before = await refusals();

    const asked = chat({ maxRetries: 5 }, api).invoke(prompt);
    await waitUntil("a refusal", async () => (await refusals()) > before);
    holder.leave();

    expect((await asked).content).toBe(await whole());
  });
});
