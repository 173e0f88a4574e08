import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, type LanguageModel, Output, streamText } from "ai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
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
const short = { prompt, maxOutputTokens: 12, temperature: 0, maxRetries: 0 };
const endless = { max_tokens: 60_000, ignore_eos: true };

describeWith(["nats"], "the AI SDK", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startClientCluster();
  });
  afterAll(() => cluster?.stop());
  afterEach(() => cluster.untilIdle());

  /** The models of a provider package at a Frontend. */
  interface Provider {
    chat(name: string): Exclude<LanguageModel, string>;
    completion(name: string): Exclude<LanguageModel, string>;
  }
  const providers = {
    "@ai-sdk/openai-compatible": (api: string): Provider => {
      const { chatModel, completionModel } = createOpenAICompatible({
        name: "baton",
        baseURL: `${api}/v1`,
        includeUsage: true,
        supportsStructuredOutputs: true,
      });
      return { chat: chatModel, completion: completionModel };
    },
    "@ai-sdk/openai": (api: string): Provider => {
      const { chat, completion } = createOpenAI({ baseURL: `${api}/v1`, apiKey: "none" });
      return { chat, completion };
    },
  };
  const names = Object.keys(providers) as (keyof typeof providers)[];
  const chatText = async () =>
    textOf(
      await post(cluster.api, "chat/completions", {
        ...{ model, max_tokens: 12, temperature: 0 },
        messages: [{ role: "user", content: prompt }],
      }),
    );

  describe.each(names)("with %s", (name) => {
    const at = (api = cluster.api) => providers[name](api);

    it("chats in one piece and as a stream", async () => {
      const whole = await generateText({ model: at().chat(model), ...short });
      const stream = streamText({ model: at().chat(model), ...short });

      expect(whole.text).toBe(await chatText());
      expect(await stream.text).toBe(whole.text);
      for (const { finishReason, usage } of [
        whole,
        { finishReason: await stream.finishReason, usage: await stream.usage },
      ]) {
        expect(finishReason).toBe("length");
        expect(usage).toMatchObject({ inputTokens: 15, outputTokens: 12, totalTokens: 27 });
      }
    });

    it("completes texts, in one piece and as a stream", async () => {
      const whole = await generateText({ model: at().completion(model), ...short });
      const stream = streamText({ model: at().completion(model), ...short });

      expect(whole.text).toMatch(/^[0-9a-f]{8}-0/);
      expect(await stream.text).toBe(whole.text);
    });

    it("has answers in a form", async () => {
      const schema = z.object({ way: z.enum(["left", "right"]), miles: z.number() });
      const asked = { model: at().chat(model), prompt, maxRetries: 0 };

      const byText = await generateText({ ...asked, output: Output.object({ schema }) });
      const stream = streamText({ ...asked, output: Output.object({ schema }) });
      const asJson = await generateText({ ...asked, output: Output.json() });

      expect(schema.parse(byText.output)).toEqual(byText.output);
      expect(schema.parse(await stream.output)).toEqual(await stream.output);
      expect(asJson.output).toBeTypeOf("object");
    });

    it("makes errors of its own kind, and knows which may be tried again", async () => {
      const failure = async (asked: Parameters<typeof generateText>[0]): Promise<APICallError> => {
        const error: unknown = await generateText(asked).catch((one: unknown) => one);
        if (!APICallError.isInstance(error)) throw error;
        return error;
      };
      const codeOf = ({ responseBody = "" }: APICallError) => JSON.parse(responseBody).error.code;

      const unknown = await failure({ ...short, model: at().chat("gpt-9") });
      const wrong = await failure({ ...short, model: at().chat(model), topP: 9 });

      expect(unknown).toMatchObject({ statusCode: 404, isRetryable: false });
      expect(unknown.message).toContain("gpt-9");
      expect(codeOf(unknown)).toBe("model_not_found");
      expect(wrong).toMatchObject({ statusCode: 400, isRetryable: false });
      expect(codeOf(wrong)).toBe("invalid_request");
    });

    it("frees all when a program aborts a stream", async () => {
      const leave = new AbortController();
      const { fullStream } = streamText({
        ...short,
        model: at().chat(model),
        maxOutputTokens: 60_000,
        abortSignal: leave.signal,
      });

      const parts: string[] = [];
      for await (const { type } of fullStream) {
        parts.push(type);
        if (type === "text-delta") leave.abort();
      }

      expect(parts.at(-1)).toBe("abort");
      await cluster.untilIdle();
    });

    it("asks again by itself where there was no room", async () => {
      const api = cluster.apiOf(narrow);
      const refusals = () =>
        cluster.metrics("baton_frontend_requests_total", { id: narrow, code: "overloaded" });
      const holder = new ApiStream(api, "completions", { model, prompt, ...endless });
      await holder.begun();
      const before = await refusals();

      const asked = generateText({ ...short, model: at(api).chat(model), maxRetries: 5 });
      await waitUntil("a refusal", async () => (await refusals()) > before);
      holder.leave();

      expect((await asked).text).toBe(await chatText());
    });
  });

  it("sends fields that it does not know, as options of the provider", async () => {
    const { text, response } = await generateText({
      ...short,
      model: providers["@ai-sdk/openai-compatible"](cluster.api).chat(model),
      providerOptions: {
        baton: { min_p: 0.1, top_k: 5, nvext: { extra_fields: ["worker_id"] } },
      },
    });

    expect(text).toBe(await chatText());
    expect(response.body).toMatchObject({ nvext: { worker_id: { decode_worker_id: "decode-0" } } });
  });

  it("tells of a worker that is lost in the middle of a stream", async () => {
    const { fullStream } = streamText({
      ...short,
      model: providers["@ai-sdk/openai-compatible"](cluster.api).chat(model),
      maxOutputTokens: 60_000,
      onError: () => undefined,
    });

    const errors: unknown[] = [];
    let isKilled = false;
    for await (const part of fullStream) {
      if (part.type === "error") errors.push(part.error);
      if (part.type !== "text-delta" || isKilled) continue;
      isKilled = true;
      cluster.kill("decode-0", "SIGKILL");
    }

    expect(isKilled).toBe(true);
    expect(errors).toMatchObject([{ code: "worker_lost" }]);
  });
});
