import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import {
  chatAnswer,
  chatChunk,
  completionAnswer,
  completionChunk,
  errorAnswerSchema,
  generateAnswer,
  generateChunk,
  modelAnswer,
  modelsAnswer,
} from "../../../src/http/openapi/answer-schemas.ts";
import type { OpenApiDocument } from "../../../src/http/openapi/openapi-document.ts";
import { eventsOf } from "../../support/api-rig.ts";
import { logprobOf, refusalOf } from "../../support/bodies.ts";
import { bodyOf } from "../../support/body-arbitrary.ts";
import { deltaOf, type FakePort, summary } from "../../support/fake-port.ts";
import { apiRigs } from "../../support/rigs.ts";

const rigWith = apiRigs();

async function documentOf(): Promise<OpenApiDocument> {
  const rig = await rigWith();
  return (await (await fetch(`${rig.url}/openapi.json`)).json()) as OpenApiDocument;
}

/** All that stands under a key anywhere in the document. */
function allOf(value: unknown, key: string): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    ...(name === key ? [inner] : []),
    ...allOf(inner, key),
  ]);
}

const everything: FakePort["onSubmit"] = (sink) => {
  const logprobs = [logprobOf("H", { top: [logprobOf("x")] })];
  sink.began?.({ promptTokens: 1, text: "Q", logprobs: [{ ...logprobOf("Q"), logprob: null }] });
  sink.output([deltaOf("H", { logprobs, tokens: [72] })]);
  sink.output([deltaOf("i", { logprobs, tokens: [105], finishReason: "stop" })]);
  sink.ended({ kind: "completed", summary });
};

describe("the description of the API", () => {
  it("names every path with its method, in OpenAPI 3.1", async () => {
    const document = await documentOf();

    expect(document.openapi).toBe("3.1.0");
    const methods = Object.entries(document.paths).map(
      ([path, operations]) => `${Object.keys(operations).join(" ")} ${path}`,
    );
    expect(methods.toSorted()).toEqual([
      "get /docs",
      "get /health",
      "get /live",
      "get /metrics",
      "get /openapi.json",
      "get /v1/models",
      "get /v1/models/{model}",
      "get /v1/models/{model}/ready",
      "post /detokenize",
      "post /inference/v1/generate",
      "post /tokenize",
      "post /v1/chat/completions",
      "post /v1/completions",
    ]);
  });

  it("refers to nothing that it does not hold, and calls no two things by one name", async () => {
    const document = await documentOf();

    const names = Object.keys(document.components.schemas);
    for (const reference of allOf(document, "$ref")) {
      expect(names).toContain(String(reference).replace("#/components/schemas/", ""));
    }
    const ids = allOf(document.paths, "operationId");
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("has only schemas that compile", async () => {
    const { components } = await documentOf();
    const ajv = new Ajv2020({ strict: false });

    for (const schema of Object.values(components.schemas)) ajv.compile(schema);

    expect(Object.keys(components.schemas)).toContain("ChatBody");
  });

  it.each([
    ["chat", "ChatBody"],
    ["completions", "CompletionBody"],
    ["generate", "GenerateBody"],
  ] as const)("allows every body of %s that the API takes", async (endpoint, name) => {
    const { components } = await documentOf();
    const allows = new Ajv2020({ strict: false }).compile(components.schemas[name] ?? false);
    let taken = 0;
    fc.assert(
      fc.property(bodyOf(endpoint), (body) => {
        if (refusalOf(endpoint, body) !== "taken") return;
        taken += 1;
        expect(allows(body), JSON.stringify([body, allows.errors])).toBe(true);
      }),
      { numRuns: 150 },
    );
    expect(taken).toBeGreaterThan(10);
  });
});

const generating = {
  prompt_logprobs: 1,
  baton: { include: ["route", "timing"] },
  nvext: { extra_fields: ["worker_id"] },
};
const { prompt_logprobs: _, ...streaming } = {
  ...generating,
  stream: true,
  stream_options: { include_usage: true, continuous_usage_stats: true },
};
const chat = { model: "m", messages: [{ role: "user", content: "" }], logprobs: true };
const completion = { model: "m", prompt: "Q", logprobs: 1, echo: true };
const tokens = { model: "m", token_ids: [1] };

describe("what the API answers", () => {
  it.each<readonly [string, string, object, z.ZodType]>([
    ["a chat", "/v1/chat/completions", { ...chat, ...generating }, chatAnswer],
    ["a completion", "/v1/completions", { ...completion, ...generating }, completionAnswer],
    [
      "token ids",
      "/inference/v1/generate",
      { ...tokens, sampling_params: { logprobs: 1, prompt_logprobs: 1 }, baton: generating.baton },
      generateAnswer,
    ],
    ["an error", "/v1/completions", {}, errorAnswerSchema],
  ])("to %s is as described", async (_title, path, body, schema) => {
    const rig = await rigWith();
    rig.port.onSubmit = everything;

    const answer: unknown = await (await rig.post(path, body)).json();

    expect(schema.safeParse(answer).error).toBeUndefined();
  });

  it.each<readonly [string, string, object, z.ZodType]>([
    ["a chat", "/v1/chat/completions", { ...chat, ...streaming }, chatChunk],
    ["a completion", "/v1/completions", { ...completion, ...streaming }, completionChunk],
    [
      "token ids",
      "/inference/v1/generate",
      { ...tokens, ...streaming, sampling_params: { logprobs: 1 } },
      generateChunk,
    ],
  ])("to %s as a stream is as described", async (_title, path, body, schema) => {
    const rig = await rigWith();
    rig.port.onSubmit = everything;

    const events = eventsOf(await (await rig.post(path, body)).text()).slice(0, -1);

    expect(events.length).toBeGreaterThan(3);
    for (const [, data] of events) {
      expect(schema.safeParse(JSON.parse(data)).error).toBeUndefined();
    }
  });

  it("of models is as described", async () => {
    const rig = await rigWith();
    const get = async (path: string): Promise<unknown> => (await fetch(`${rig.url}${path}`)).json();

    expect(modelsAnswer.safeParse(await get("/v1/models")).error).toBeUndefined();
    expect(modelAnswer.safeParse(await get("/v1/models/m")).error).toBeUndefined();
  });
});
