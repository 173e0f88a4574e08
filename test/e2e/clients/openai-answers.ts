import { describe, expect, it } from "vitest";
import { post } from "../../support/processes/index.ts";
import { model } from "./client-cluster.ts";
import { chatText, type OpenAiParts, openAiCalls, prompt } from "./openai-calls.ts";
import type { Json, Outcome } from "./openai-client.ts";

const schema = {
  type: "object",
  properties: { way: { enum: ["left", "right"] }, why: { type: "string" } },
  required: ["way", "why"],
  additionalProperties: false,
};
const stream = { stream: true, stream_options: { include_usage: true } };

/** What every official `openai` package is answered. */
export function openAiAnswers(parts: OpenAiParts): void {
  const { cluster } = parts;
  const { call, chat, complete } = openAiCalls(parts);

  describe("models", () => {
    it("are listed, and each is found by its name", async () => {
      const { answer } = await call("models.list", {});
      const { answer: found } = await call("models.retrieve", { model });

      expect(answer.data).toEqual([
        expect.objectContaining({ id: model, object: "model", owned_by: "baton", ready: true }),
      ]);
      expect(found).toEqual(answer.data[0]);
    });

    it("say whether they are ready", async () => {
      const { answer } = await call("get", {}, { path: "/models/org%2Frelay/ready" });

      expect(answer).toMatchObject({ id: model, ready: true, mode: "disaggregated", missing: [] });
    });
  });

  describe("answers", () => {
    it("are what was sent, field by field", async () => {
      const sent = await post(cluster().api, "chat/completions", {
        ...{ model, messages: [{ role: "user", content: prompt }], max_tokens: 12, temperature: 0 },
        ...{ n: 2, seed: 7, logprobs: true, top_logprobs: 2 },
      });

      const { answer } = await chat({ n: 2, seed: 7, logprobs: true, top_logprobs: 2 });

      const { id, created, ...rest } = sent.body;
      expect(answer).toEqual({
        ...rest,
        id: expect.stringMatching(/^chatcmpl-/),
        created: expect.any(Number),
        usage: { ...rest.usage, prompt_tokens_details: expect.anything() },
      });
      expect(answer.choices).toHaveLength(2);
    });

    it("have logprobs whose bytes are the text", async () => {
      const { answer } = await chat({ logprobs: true, top_logprobs: 2 });

      const [{ logprobs, message }] = answer.choices;
      const bytes = logprobs.content.flatMap((token: Json) => token.bytes);
      expect(Buffer.from(bytes).toString()).toBe(message.content);
      expect(logprobs.content.map((token: Json) => token.top_logprobs.length)).toEqual(
        new Array(12).fill(2),
      );
    });

    it("are the same with the same seed, and others with another", async () => {
      const text = async (seed: number) =>
        (await chat({ seed, temperature: 2, max_tokens: 24 })).answer.choices[0].message.content;

      const first = await text(1);

      expect(await text(1)).toBe(first);
      expect(await text(2)).not.toBe(first);
    });

    it("end at a stop text, which is not shown", async () => {
      const whole = (await chat({ max_tokens: 30 })).answer.choices[0].message.content;
      const [before = ""] = whole.split("-1");

      for (const stop of ["-1", ["never", "-1"]]) {
        const { answer } = await chat({ max_tokens: 30, stop });
        const { chunks } = await chat({ max_tokens: 30, stop, ...stream });
        expect(answer.choices[0]).toMatchObject({
          message: { content: before },
          finish_reason: "stop",
        });
        expect(chatText(chunks)).toBe(before);
      }
    });

    it("hold to a schema, or to JSON", async () => {
      const format = { type: "json_schema", json_schema: { name: "way", schema, strict: true } };
      const bySchema = await chat({ max_tokens: 300, response_format: format });
      const asJson = await chat({ max_tokens: 300, response_format: { type: "json_object" } });

      const parse = ({ answer }: Outcome) => JSON.parse(answer.choices[0].message.content);
      expect(parse(bySchema)).toEqual({
        way: expect.stringMatching(/^(left|right)$/),
        why: expect.any(String),
      });
      expect(parse(asJson)).toBeTypeOf("object");
      expect(bySchema.answer.choices[0].finish_reason).toBe("stop");
    });

    it("follow fields that the package does not know", async () => {
      const { answer } = await chat({
        ...{ top_k: 5, min_p: 0.2, min_tokens: 12, ignore_eos: true },
        ...{ repetition_penalty: 1, stop_token_ids: [] },
        nvext: { extra_fields: ["worker_id"], cache_salt: "tenant" },
        baton: { include: ["route", "timing"] },
      });
      const { answer: greedy } = await chat();

      expect(answer.choices[0].message.content).toBe(greedy.choices[0].message.content);
      expect(answer.nvext.worker_id).toMatchObject({
        prefill_worker_id: "prefill-0",
        decode_worker_id: "decode-0",
      });
      expect(answer.baton).toMatchObject({
        mode: "disaggregated",
        prefill_worker: "prefill-0",
        decode_worker: "decode-0",
      });
    });

    it("do not mind fields that have no effect on them", async () => {
      const { answer } = await chat({
        ...{ user: "u", metadata: { a: "b" }, store: false, service_tier: "auto" },
        ...{ tools: [], parallel_tool_calls: true, modalities: ["text"] },
        ...{ logit_bias: {}, stop: null, frequency_penalty: null, prompt_cache_key: "k" },
      });
      const { answer: plain } = await chat();

      expect(answer.choices).toEqual(plain.choices);
    });

    it("come to many callers at once, each its own", async () => {
      const ask = (number: number) => complete({ prompt: `Runner ${number}?`, echo: true });

      const outcomes = await Promise.all(Array.from({ length: 24 }, (_, number) => ask(number)));

      const texts = outcomes.map(({ answer }) => answer.choices[0].text);
      expect(texts.map((text) => text.slice(0, text.indexOf("?")))).toEqual(
        texts.map((_, number) => `Runner ${number}`),
      );
    });
  });

  describe("text completions", () => {
    it("take a text, texts, token ids, and arrays of these", async () => {
      const prompts = [prompt, "Who runs?"];
      const ids = await Promise.all(
        prompts.map(async (text) => {
          const path = `${cluster().api}/tokenize`;
          return (await call("post", { model, prompt: text }, { path })).answer.tokens;
        }),
      );
      const texts = async (asked: unknown) => {
        const { answer } = await complete({ prompt: asked });
        return answer.choices.map(({ text }: Json) => text);
      };

      const both = await texts(prompts);

      expect(both).toHaveLength(2);
      expect(await texts(prompts[0])).toEqual(both.slice(0, 1));
      expect(await texts(ids[1])).toEqual(both.slice(1));
      expect(await texts(ids)).toEqual(both);
    });

    it("begin with the prompt and its logprobs, if asked to", async () => {
      const { answer } = await complete({ echo: true, logprobs: 2, n: 2 });
      const { answer: alone } = await complete({ echo: true, logprobs: 1, max_tokens: 0 });

      for (const { text, logprobs } of answer.choices) {
        expect(text.startsWith(prompt)).toBe(true);
        expect(logprobs.tokens.join("")).toBe(text);
        expect(logprobs.token_logprobs[0]).toBeNull();
        expect(logprobs.tokens).toHaveLength(answer.usage.prompt_tokens + 12);
      }
      expect(alone.choices[0].text).toBe(prompt);
      expect(alone.choices[0].logprobs.tokens.join("")).toBe(prompt);
    });

    it("are streamed as they are answered in one piece", async () => {
      const body = { prompt: [prompt, "Who runs?"], n: 2, echo: true, logprobs: 1 };
      const { answer } = await complete(body);

      const { chunks = [] } = await complete({ ...body, ...stream });

      const choices = chunks.flatMap((chunk) => chunk.choices);
      for (const whole of answer.choices) {
        const own = choices.filter(({ index }: Json) => index === whole.index);
        expect(own.map(({ text }: Json) => text).join("")).toBe(whole.text);
        expect(own.flatMap(({ logprobs }: Json) => logprobs?.tokens ?? [])).toEqual(
          whole.logprobs.tokens,
        );
      }
      expect(chunks.at(-1).usage.total_tokens).toBe(answer.usage.total_tokens);
    });
  });

  describe("streams of a chat", () => {
    it("are the answer in one piece, with the role in the first chunk alone", async () => {
      const body = { n: 2, seed: 7, logprobs: true, top_logprobs: 2 };
      const { answer } = await chat(body);

      const { chunks = [] } = await chat({ ...body, stream: true });

      for (const whole of answer.choices) {
        const own = chunks.flatMap(({ choices }) =>
          choices.filter(({ index }: Json) => index === whole.index),
        );
        expect(chatText(chunks, whole.index)).toBe(whole.message.content);
        expect(own.map(({ delta }) => delta.role ?? null)).toEqual([
          "assistant",
          ...new Array(own.length - 1).fill(null),
        ]);
        expect(own.flatMap(({ logprobs }) => logprobs?.content ?? [])).toEqual(
          whole.logprobs.content,
        );
        expect(own.map(({ finish_reason }) => finish_reason ?? null)).toEqual([
          ...new Array(own.length - 1).fill(null),
          whole.finish_reason,
        ]);
      }
      expect(chunks.map((chunk) => chunk.usage ?? null)).toEqual(chunks.map(() => null));
    });

    it("tell what was used once, at their end, if asked to", async () => {
      const { answer } = await chat();

      const { chunks = [] } = await chat(stream);

      const last = chunks.at(-1);
      expect(last.choices).toEqual([]);
      expect(last.usage).toMatchObject({
        prompt_tokens: answer.usage.prompt_tokens,
        completion_tokens: 12,
        total_tokens: answer.usage.total_tokens,
      });
      expect(chunks.slice(0, -1).map(({ usage }) => usage)).toEqual(
        chunks.slice(0, -1).map(() => null),
      );
    });

    it("tell what was used so far, if asked to", async () => {
      const options = { include_usage: true, continuous_usage_stats: true };

      const { chunks = [] } = await chat({ stream: true, stream_options: options });

      const used = chunks.map(({ usage }) => usage.completion_tokens);
      expect(used[0]).toBeGreaterThan(0);
      expect(used).toEqual([...used].sort((left, right) => left - right));
      expect(used.at(-1)).toBe(12);
    });
  });

  it("takes and gives token ids by a path of its own", async () => {
    const send = async (path: string, body: object) =>
      (await call("post", body, { path: `${cluster().api}${path}` })).answer;
    const { answer: text } = await complete();

    const { tokens } = await send("/tokenize", { model, prompt });
    const generated = await send("/inference/v1/generate", {
      model,
      token_ids: tokens,
      sampling_params: { max_tokens: 12, temperature: 0 },
    });
    const written = await send("/detokenize", { model, tokens: generated.choices[0].token_ids });

    expect(written.prompt).toBe(text.choices[0].text);
  });
}
