import fc from "fast-check";
import type { z } from "zod";
import { defaultBodyLimits } from "../../src/http/body-limits.ts";
import type { Endpoint } from "../../src/http/parse-body.ts";
import { bodySchemas } from "../../src/http/request-schema.ts";

/** The schemas of the bodies, within the usual limits. */
export const schemas = bodySchemas(defaultBodyLimits);

/** A body of each endpoint that is taken. */
export const leastBodies: Readonly<Record<Endpoint, Readonly<Record<string, unknown>>>> = {
  chat: { model: "m", messages: [{ role: "user", content: "Hi" }] },
  completions: { model: "m", prompt: "Hi" },
  generate: { model: "m", token_ids: [1] },
};

const unit = fc.double({ min: 0, max: 1, noNaN: true });
const small = fc.integer({ min: 1, max: 30 });

const goodSampling = {
  min_tokens: fc.constantFrom(0, 1),
  temperature: unit,
  top_p: unit,
  top_k: fc.integer({ min: -1, max: 50 }),
  min_p: unit,
  presence_penalty: unit,
  frequency_penalty: unit,
  repetition_penalty: fc.constantFrom(1, 1.5),
  seed: fc.maxSafeInteger(),
  stop: fc.oneof(fc.constantFrom("a", "é"), fc.array(fc.constantFrom("x", "y"), { maxLength: 4 })),
  stop_token_ids: fc.array(small, { maxLength: 3 }),
  ignore_eos: fc.boolean(),
  logit_bias: fc.dictionary(fc.constantFrom("1", "20"), unit),
  n: fc.integer({ min: 1, max: 4 }),
  max_tokens: small,
};
const goodTop = {
  cache_salt: fc.constantFrom("", "s"),
  baton: fc.constantFrom({}, { include: ["route"] }, { session: { id: "s" } }),
  nvext: fc.constantFrom({}, { dp_rank: null }),
};
const goodOpenAi = {
  ...goodTop,
  ...goodSampling,
  user: fc.string(),
  response_format: fc.constantFrom(
    { type: "text" },
    { type: "json_object" },
    { type: "json_schema", json_schema: { name: "n", schema: { type: "object" } } },
  ),
};

const goodFields: Readonly<Record<Endpoint, Record<string, fc.Arbitrary<unknown>>>> = {
  chat: {
    ...goodOpenAi,
    logprobs: fc.constant(true),
    top_logprobs: fc.integer({ min: 0, max: 20 }),
  },
  completions: { ...goodOpenAi, echo: fc.boolean(), logprobs: fc.integer({ min: 0, max: 20 }) },
  generate: {
    ...goodTop,
    request_id: fc.constantFrom("mine"),
    sampling_params: fc.record(goodSampling, { requiredKeys: [] }),
  },
};

/** Bodies most of whose fields are good, some null, some anything. */
export function bodyOf(endpoint: Endpoint): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.fromEntries(
    Object.entries(goodFields[endpoint]).map(([field, good]) => [
      field,
      fc.oneof(
        { weight: 30, arbitrary: good },
        { weight: 2, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
      ),
    ]),
  );
  return fc
    .record(fields, { requiredKeys: [] })
    .map((some) => ({ ...leastBodies[endpoint], ...some }));
}

/** The field names of an object's schema. */
export function fieldsOf(schema: z.ZodObject): readonly string[] {
  return Object.keys(schema.shape);
}
