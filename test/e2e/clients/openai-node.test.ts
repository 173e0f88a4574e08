import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Cluster, describeWith } from "../../support/processes/index.ts";
import { model, startClientCluster } from "./client-cluster.ts";
import { nodeOpenAi } from "./node-openai.ts";
import { openAiAnswers } from "./openai-answers.ts";
import { openAiFailures } from "./openai-failures.ts";

describeWith(["nats"], "openai for Node", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startClientCluster();
  });
  afterAll(() => cluster?.stop());
  afterEach(() => cluster.untilIdle());

  const ask = (content = "Which way?") => ({
    model,
    messages: [{ role: "user", content }] as const,
    max_tokens: 12,
    temperature: 0,
  });
  const openai = () =>
    new OpenAI({ baseURL: `${cluster.api}/v1`, apiKey: "none", maxRetries: 0 }).chat.completions;

  describe("its helpers", () => {
    it("gather a stream to what an answer in one piece is", async () => {
      const body = { ...ask(), messages: [...ask().messages], logprobs: true, n: 2 };
      const whole = await openai().create(body);
      const runner = openai().stream({ ...body, stream_options: { include_usage: true } });

      const gathered = await runner.finalChatCompletion();

      expect(gathered.choices).toMatchObject(whole.choices);
      expect(await runner.totalUsage()).toMatchObject({
        prompt_tokens: whole.usage?.prompt_tokens,
        completion_tokens: 24,
      });
    });

    it("parse what a schema of zod describes", async () => {
      const way = z.object({
        way: z.enum(["left", "right"]),
        miles: z.number().int(),
        tags: z.array(z.string()).max(2),
        note: z.string().nullable(),
      });

      const { choices } = await openai().parse({
        ...ask(),
        messages: [...ask().messages],
        max_tokens: 400,
        response_format: zodResponseFormat(way, "way"),
      });

      expect(way.parse(choices[0]?.message.parsed)).toEqual(choices[0]?.message.parsed);
    });
  });

  it("frees all when a program aborts before the first token", async () => {
    const leave = new AbortController();
    const asked = openai().create(
      { ...ask(), messages: [...ask().messages], max_tokens: 60_000 },
      { signal: leave.signal },
    );
    await expect
      .poll(() => cluster.metrics("baton_frontend_requests_in_flight"))
      .toBeGreaterThan(0);

    leave.abort();

    await expect(asked).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    await cluster.untilIdle();
  });

  const parts = {
    cluster: () => cluster,
    client: () => nodeOpenAi,
    timeoutError: "APIConnectionTimeoutError",
  };
  openAiAnswers(parts);
  openAiFailures(parts);
});
