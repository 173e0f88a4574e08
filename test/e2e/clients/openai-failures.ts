import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ApiStream, waitUntil, workerSpec } from "../../support/processes/index.ts";
import { model, narrow, workerFlags } from "./client-cluster.ts";
import { type OpenAiParts, openAiCalls, prompt } from "./openai-calls.ts";

/** More than any test waits for: only who leaves or is told of an error sees the end of it. */
const endless = { max_tokens: 60_000, ignore_eos: true };

/** What every official `openai` package makes of failures, and of a program that leaves. The last test replaces the decode worker. */
export function openAiFailures(parts: OpenAiParts): void {
  const { cluster, timeoutError } = parts;
  const { call, chat, complete } = openAiCalls(parts);

  describe("errors", () => {
    const badRequest = { name: "BadRequestError", status: 400, type: "invalid_request_error" };
    const notFound = { name: "NotFoundError", status: 404, type: "not_found_error" };
    const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };

    it.each([
      ["a wrong value", { temperature: 9 }, { code: "invalid_request", param: "temperature" }],
      ["tools", { tools: [tool] }, { code: "unsupported", param: "tools" }],
      [
        "a part that is no text",
        {
          messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x:" } }] }],
        },
        { code: "unsupported", param: "messages[0].content[0]" },
      ],
      [
        "more than fits",
        { max_tokens: 10_000_000 },
        { code: "context_length_exceeded", param: "max_tokens" },
      ],
      [
        "a field of ours that nobody may set",
        { kv_transfer_params: {} },
        { code: "invalid_request", param: "kv_transfer_params" },
      ],
      ["an unknown hint", { nvext: { x: 1 } }, { code: "invalid_request", param: "nvext.x" }],
    ])("of %s are a BadRequestError with the field", async (_what, body, expected) => {
      const { error } = await chat(body);

      expect(error).toMatchObject({ ...badRequest, ...expected });
      expect(error?.message).toContain("400");
    });

    it.each([
      ["best_of", { best_of: 3 }],
      ["suffix", { suffix: "." }],
    ])("of a completion with %s are a BadRequestError", async (param, body) => {
      const { error } = await complete(body);

      expect(error).toMatchObject({ ...badRequest, code: "unsupported", param });
    });

    it("of a model that there is not name it, and what there is", async () => {
      const asked = [chat({ model: "gpt-9" }), call("models.retrieve", { model: "gpt-9" })];

      for (const { error } of await Promise.all(asked)) {
        expect(error).toMatchObject({ ...notFound, code: "model_not_found", param: "model" });
        expect(error?.message).toContain("gpt-9");
        expect(error?.message).toContain(model);
      }
    });

    it("of what is not served are a NotFoundError", async () => {
      const embeddings = await call("embeddings.create", { model, input: "x" });
      const responses = await call("responses.create", { model, input: "x" });

      const expected = { ...notFound, code: "route_not_found", param: null };
      expect([embeddings.error, responses.error]).toMatchObject([expected, expected]);
    });

    it("of a stream that never began are the same as without a stream", async () => {
      const plain = await chat({ temperature: 9 });
      const streamed = await chat({ temperature: 9, stream: true });

      const { requestId: _, ...rest } = plain.error ?? {};
      expect(streamed.error).toMatchObject(rest);
    });

    it("of a body that is too large have the status 413", async () => {
      const { error } = await complete({ prompt: "x".repeat(9 * 1024 * 1024) });

      expect(error).toMatchObject({ status: 413, code: "payload_too_large" });
    });
  });

  describe("the id of a request", () => {
    it("is known to the program, of answers, streams and errors", async () => {
      const outcomes = [await chat(), await chat({ stream: true }), await chat({ temperature: 9 })];

      const ids = outcomes.map(({ error, requestId }) => error?.requestId ?? requestId);
      expect(ids).toEqual(ids.map(() => expect.stringMatching(/^req-/)));
    });

    it("is the program's own if it sends one", async () => {
      const headers = { "x-request-id": `mine-${randomUUID()}` };

      const outcomes = [
        await chat({}, { headers }),
        await chat({ stream: true }, { headers }),
        await chat({ temperature: 9 }, { headers }),
      ];

      const ids = outcomes.map(({ error, requestId }) => error?.requestId ?? requestId);
      expect(ids).toEqual(ids.map(() => headers["x-request-id"]));
    });
  });

  describe("a program that leaves", () => {
    it.each([
      ["in the middle of a chat's stream", "chat/completions"],
      ["in the middle of a completion's stream", "completions"],
    ])("%s frees all that it held", async (_when, endpoint) => {
      const ask = endpoint === "completions" ? complete : chat;
      const headers = { "x-request-id": randomUUID() };

      const { chunks } = await ask({ ...endless, stream: true }, { headers, leaveAfter: 3 });
      const end = await cluster().watch.untilState(headers["x-request-id"], "cancelled");

      expect(chunks).toHaveLength(3);
      expect(end.details.stage).toBe("decode.streaming");
      await cluster().untilIdle();
    });

    it("since an answer takes too long is told so, and frees all that it held", async () => {
      const headers = { "x-request-id": randomUUID() };

      const { error } = await chat(endless, { headers, timeoutMs: 400 });
      await cluster().watch.untilState(headers["x-request-id"], "cancelled");

      expect(error?.name).toBe(timeoutError);
      await cluster().untilIdle();
    });
  });

  describe("a Frontend without room", () => {
    const refusals = () =>
      cluster().metrics("baton_frontend_requests_total", { id: narrow, code: "overloaded" });

    /** Asks while somebody else takes all the room. */
    async function whileFull<T>(ask: (api: string, leave: () => void) => Promise<T>): Promise<T> {
      const api = cluster().apiOf(narrow);
      const holder = new ApiStream(api, "completions", { model, prompt, ...endless });
      try {
        await holder.begun();
        return await ask(api, () => holder.leave());
      } finally {
        holder.leave();
      }
    }

    it("is a RateLimitError, where the operator says 429", async () => {
      const { error } = await whileFull((api) => chat({}, { api }));

      expect(error).toMatchObject({
        name: "RateLimitError",
        status: 429,
        code: "overloaded",
        type: "overloaded_error",
      });
    });

    it("is asked again by the client itself", async () => {
      const before = await refusals();

      const { answer } = await whileFull(async (api, leave) => {
        const asked = chat({}, { api, maxRetries: 5 });
        await waitUntil("a refusal", async () => (await refusals()) > before);
        leave();
        return await asked;
      });

      expect(answer.choices[0].finish_reason).toBe("length");
    });
  });

  it("tells of a worker that is lost in the middle, and asks again until there is another", async () => {
    const headers = { "x-request-id": randomUUID() };
    const broken = chat({ ...endless, stream: true }, { headers });
    await cluster().watch.untilState(headers["x-request-id"], "decode.streaming");
    await waitUntil("some tokens", async () => {
      return (await cluster().metrics("baton_worker_sequences", { id: "decode-0" })) > 0;
    });

    cluster().kill("decode-0", "SIGKILL");
    const { chunks, error } = await broken;
    const failures = () =>
      cluster().metrics("baton_frontend_requests_total", { id: "frontend", outcome: "failed" });
    const before = await failures();
    const without = await chat();
    const asked = chat({}, { maxRetries: 20 });
    await waitUntil("two refusals", async () => (await failures()) >= before + 2);
    await cluster().start(workerSpec("decode", "decode-0", model, workerFlags));
    const { answer } = await asked;

    expect(chunks?.length).toBeGreaterThan(0);
    expect(error).toMatchObject({ name: "APIError", code: "worker_lost", type: "server_error" });
    expect(without.error).toMatchObject({ name: "InternalServerError", status: 503 });
    expect(answer.choices[0].finish_reason).toBe("length");
  });
}
