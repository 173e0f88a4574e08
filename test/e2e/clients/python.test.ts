import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Cluster, describeWith, post, textOf } from "../../support/processes/index.ts";
import { model, startClientCluster } from "./client-cluster.ts";
import { openAiAnswers } from "./openai-answers.ts";
import { chatText } from "./openai-calls.ts";
import type { Json, OpenAiCall } from "./openai-client.ts";
import { openAiFailures } from "./openai-failures.ts";
import { PythonPeer, runPython } from "./python-peer.ts";

const prompt = "Which way to the relay?";
const messages = [{ role: "user", content: prompt }];
const short = { max_tokens: 12, temperature: 0 };
const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };

describeWith(["nats", "python-clients"], "clients in Python", () => {
  const peers = { openai: "openai_peer", litellm: "litellm_peer", langchain: "langchain_peer" };
  const started = new Map<string, PythonPeer>();
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startClientCluster();
    for (const [name, script] of Object.entries(peers)) started.set(name, new PythonPeer(script));
  });
  afterAll(async () => {
    for (const peer of started.values()) peer.end();
    await cluster?.stop();
  });
  afterEach(() => cluster.untilIdle());

  function peer(name: keyof typeof peers): PythonPeer {
    const found = started.get(name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  }
  const calling =
    (name: keyof typeof peers) =>
    (method: string, body: object, more: Partial<OpenAiCall> = {}) =>
      peer(name).call({ api: cluster.api, method, body: { ...body }, ...more });
  const sent = (more: object = {}) =>
    post(cluster.api, "chat/completions", { model, messages, ...short, ...more });

  describe("litellm", () => {
    const call = calling("litellm");

    it.each(["openai", "hosted_vllm"])("chats through its provider %s", async (provider) => {
      const whole = await sent();
      const body = { model: `${provider}/${model}`, messages, ...short };

      const { answer } = await call("completion", body);
      const { chunks } = await call("completion", {
        ...body,
        stream: true,
        stream_options: { include_usage: true },
      });

      expect(answer.choices[0]).toMatchObject({
        finish_reason: "length",
        message: { role: "assistant", content: textOf(whole) },
      });
      expect(answer.usage).toMatchObject({ prompt_tokens: 15, completion_tokens: 12 });
      expect(chatText(chunks)).toBe(textOf(whole));
      expect(chunks?.at(-1).usage).toMatchObject({ prompt_tokens: 15, completion_tokens: 12 });
    });

    it("completes texts", async () => {
      const asked = { prompt: [prompt, "Who runs?"], ...short };
      const whole = await post(cluster.api, "completions", { model, ...asked });

      const { answer } = await call("text_completion", {
        model: `text-completion-openai/${model}`,
        ...asked,
      });

      expect(answer.choices.map(({ text }: Json) => text)).toEqual([
        textOf(whole, 0),
        textOf(whole, 1),
      ]);
    });

    it("makes its own exceptions of errors", async () => {
      const ask = async (more: object) =>
        (await call("completion", { model: `openai/${model}`, messages, ...short, ...more })).error;

      const badRequest = { name: "BadRequestError", status: 400 };
      expect(await ask({ model: "openai/gpt-9" })).toMatchObject({
        name: "NotFoundError",
        status: 404,
      });
      expect(await ask({ temperature: 9 })).toMatchObject({ ...badRequest, param: "temperature" });
      expect(await ask({ tools: [tool] })).toMatchObject({ ...badRequest, code: "unsupported" });
    });
  });

  describe("langchain", () => {
    const call = calling("langchain");
    const chat = { model, ...short };

    it("chats in one piece, as a stream, and many at once", async () => {
      const whole = await sent();

      const { answer } = await call("invoke", { ...chat, input: prompt });
      const { chunks = [] } = await call("stream", { ...chat, input: prompt, stream_usage: true });
      const { answer: batch } = await call("batch", { ...chat, input: [prompt, prompt] });

      const usage = { input_tokens: 15, output_tokens: 12, total_tokens: 27 };
      expect(answer).toMatchObject({
        content: textOf(whole),
        usage,
        metadata: { finish_reason: "length" },
      });
      expect(chunks.map(({ content }) => content).join("")).toBe(textOf(whole));
      expect(chunks.filter((chunk) => chunk.usage !== null)).toMatchObject([{ usage }]);
      expect(batch.map(({ content }: Json) => content)).toEqual([textOf(whole), textOf(whole)]);
    });

    it("completes texts", async () => {
      const whole = await post(cluster.api, "completions", { model, prompt, ...short });

      const { answer } = await call("complete", { ...chat, input: [prompt] });

      expect(answer.generations[0][0].text).toBe(textOf(whole));
    });

    it("has answers in the form of a schema", async () => {
      const schema = {
        title: "way",
        type: "object",
        properties: { way: { enum: ["left", "right"] } },
        required: ["way"],
        additionalProperties: false,
      };

      const { answer } = await call("invoke", { model, max_tokens: 200, input: prompt, schema });

      expect(answer).toEqual({ way: expect.stringMatching(/^(left|right)$/) });
    });

    it("passes errors on as openai's", async () => {
      const { error } = await call("invoke", { ...chat, model: "gpt-9", input: prompt });

      expect(error).toMatchObject({ status: 404, code: "model_not_found", param: "model" });
    });
  });

  describe("llm", () => {
    let home: string;
    const run = (...args: readonly string[]) =>
      runPython(["-m", "llm", "prompt", "--no-log", ...args], { LLM_USER_PATH: home });

    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), "baton-llm-"));
      const entry = { model_name: model, api_base: `${cluster.api}/v1` };
      await writeFile(
        join(home, "extra-openai-models.yaml"),
        // JSON is YAML.
        JSON.stringify([
          { model_id: "chat", supports_schema: true, ...entry },
          { model_id: "text", completion: true, ...entry },
        ]),
      );
    });
    afterAll(() => rm(home, { recursive: true, force: true }));

    it("chats, streamed or not, and completes texts", async () => {
      const options = ["-o", "max_tokens", "12", "-o", "temperature", "0", "--key", "none"];
      const chat = textOf(await sent());
      const text = textOf(await post(cluster.api, "completions", { model, prompt, ...short }));

      const said = [
        await run("-m", "chat", prompt, ...options),
        await run("-m", "chat", prompt, "--no-stream", ...options),
        await run("-m", "text", prompt, ...options),
      ];

      expect(said.map(({ out }) => out.trim())).toEqual([chat, chat, text]);
    });

    it("has answers in the form of a schema, and says what was wrong", async () => {
      const options = ["--key", "none", "-m", "chat", prompt];
      const bySchema = await run(...options, "--schema", "way str, miles int");
      const wrong = await run(...options, "-o", "logit_bias", '{"x": 1}');

      expect(JSON.parse(bySchema.out)).toEqual({
        way: expect.any(String),
        miles: expect.any(Number),
      });
      expect(wrong.code).not.toBe(0);
      expect(wrong.err).toContain("logit_bias");
    });
  });

  describe("openai", () => {
    const call = calling("openai");

    it("parses what a model of pydantic describes", async () => {
      const { answer } = await call("parse", { model, messages, max_tokens: 400 });

      expect(JSON.parse(answer.content)).toEqual(answer.parsed);
      expect(answer.parsed).toEqual({
        way: expect.stringMatching(/^(left|right)$/),
        miles: expect.any(Number),
        tags: expect.any(Array),
        note: expect.anything(),
      });
    });

    it("gathers a stream to what an answer in one piece is", async () => {
      // The package takes an answer that was cut off for an error.
      const sampling = { temperature: 0, max_tokens: 40, stop: ["-1"] };
      const body = { model, messages, logprobs: true, n: 2, ...sampling };
      const whole = await call("chat.completions.create", body);

      const { answer } = await call("gather", body);

      expect(answer.choices).toMatchObject(whole.answer.choices);
    });

    it("frees all when a task of asyncio is cancelled", async () => {
      const body = { model, messages, max_tokens: 60_000 };

      const { answer } = await call("async", body, { leaveAfter: 300 });

      expect(answer).toBe(true);
      await cluster.untilIdle();
    });

    const parts = {
      cluster: () => cluster,
      client: () => peer("openai"),
      timeoutError: "APITimeoutError",
    };
    openAiAnswers(parts);
    openAiFailures(parts);
  });
});
