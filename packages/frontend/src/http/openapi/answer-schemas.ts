/** What the API answers, for its description. The bodies that it takes are described by the schemas that check them. */
import { z } from "zod";

const tokenId = z.number().int().min(0);
const count = z.number().int().min(0);
const finishReason = z.enum(["stop", "length"]);
const textLogprob = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.number().int().min(0).max(255)),
});
const listedLogprobs = z.object({
  content: z.array(textLogprob.extend({ top_logprobs: z.array(textLogprob) })),
  refusal: z.null().optional(),
});
const columnLogprobs = z.object({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number().nullable()),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
  text_offset: z.array(count).describe("Code points of the text before each token."),
});
const promptLogprobs = z
  .array(
    z
      .record(
        z.string(),
        z.object({
          logprob: z.number(),
          rank: z.number().int().nullable(),
          decoded_token: z.string(),
        }),
      )
      .nullable(),
  )
  .describe("By prompt token, then by token id.");

const usage = z.object({
  prompt_tokens: count,
  completion_tokens: count.describe("The token that ended a choice is counted."),
  total_tokens: count,
  prompt_tokens_details: z
    .object({ cached_tokens: count.describe("Prompt tokens that were not computed.") })
    .optional(),
});
const why = z.object({ code: z.string(), text: z.string() });
const mode = z.enum(["disaggregated", "aggregated", "decode-only"]);
const baton = z
  .looseObject({
    mode: mode.nullish(),
    prefill_worker: z.string().nullish(),
    decode_worker: z.string().nullish(),
    timing_ms: z.record(z.string(), z.number()).optional(),
  })
  .describe("How the answer was made, if `baton.include` asked.");
const nvext = z.looseObject({}).describe("What `nvext.extra_fields` asked for.");

const head = { id: z.string(), created: count, model: z.string() };
const tail = { baton: baton.optional(), nvext: nvext.optional() };
const streamUsage = usage.nullish().describe("If `stream_options.include_usage` asked.");

/** The answer of a chat. */
export const chatAnswer = z.strictObject({
  ...head,
  object: z.literal("chat.completion"),
  choices: z.array(
    z.strictObject({
      index: count,
      message: z.strictObject({
        role: z.literal("assistant"),
        content: z.string(),
        refusal: z.null(),
      }),
      logprobs: listedLogprobs.nullable(),
      finish_reason: finishReason,
    }),
  ),
  prompt_logprobs: promptLogprobs.optional(),
  usage,
  ...tail,
});

/** One event of a chat's stream. */
export const chatChunk = z.strictObject({
  ...head,
  object: z.literal("chat.completion.chunk"),
  choices: z.array(
    z.strictObject({
      index: count,
      delta: z.strictObject({
        role: z.literal("assistant").optional(),
        content: z.string().optional(),
      }),
      logprobs: listedLogprobs.nullable(),
      finish_reason: finishReason.nullable(),
    }),
  ),
  usage: streamUsage,
  ...tail,
});

const completionChoice = {
  index: count,
  text: z.string(),
  logprobs: columnLogprobs.nullable(),
  prompt_logprobs: promptLogprobs.optional(),
};

/** The answer of a completion. */
export const completionAnswer = z.strictObject({
  ...head,
  object: z.literal("text_completion"),
  choices: z
    .array(z.strictObject({ ...completionChoice, finish_reason: finishReason }))
    .describe("The choices of the first prompt, then those of the next."),
  usage,
  ...tail,
});

/** One event of a completion's stream. */
export const completionChunk = z.strictObject({
  ...head,
  object: z.literal("text_completion"),
  choices: z.array(z.strictObject({ ...completionChoice, finish_reason: finishReason.nullable() })),
  usage: streamUsage,
  ...tail,
});

const tokensHead = { request_id: z.string(), created: count, model: z.string() };
const tokensChoice = {
  index: count,
  token_ids: z.array(tokenId),
  logprobs: listedLogprobs.nullable().describe("Tokens are named `token_id:<id>`."),
};

/** The answer in token ids. */
export const generateAnswer = z.strictObject({
  ...tokensHead,
  choices: z.array(z.strictObject({ ...tokensChoice, finish_reason: finishReason })),
  prompt_logprobs: promptLogprobs.optional(),
  usage,
  ...tail,
});

/** One event of a stream of token ids. */
export const generateChunk = z.strictObject({
  ...tokensHead,
  choices: z.array(z.strictObject({ ...tokensChoice, finish_reason: finishReason.nullable() })),
  usage: streamUsage,
  ...tail,
});

/** A prompt's tokens. */
export const tokenizeAnswer = z.strictObject({
  count,
  max_model_len: count,
  tokens: z.array(tokenId),
  token_strs: z.array(z.string()).nullable(),
});

/** The text of tokens. */
export const detokenizeAnswer = z.strictObject({ prompt: z.string() });

/** One model. */
export const modelAnswer = z.strictObject({
  id: z.string(),
  object: z.literal("model"),
  created: count,
  owned_by: z.string(),
  max_model_len: count.nullable(),
  ready: z.boolean(),
  mode: mode.nullable(),
  why: why.nullable(),
});

/** All models. */
export const modelsAnswer = z.strictObject({
  object: z.literal("list"),
  data: z.array(modelAnswer),
});

/** What a model needs, and what of it there is. */
export const readinessAnswer = z.strictObject({
  object: z.literal("model.readiness"),
  id: z.string(),
  ready: z.boolean(),
  mode: mode.nullable(),
  why: why.nullable(),
  roles: z.array(
    z.strictObject({
      role: z.string(),
      set: z.string(),
      needs: z.array(z.array(z.string())).describe("OR of ANDs of roles."),
      workers: z.array(
        z.strictObject({ id: z.string(), state: z.enum(["live", "draining", "lost"]) }),
      ),
    }),
  ),
  present: z.array(z.string()),
  missing: z.array(z.string()).describe("Roles that live workers wait for."),
  ambiguous: z.array(z.string()).describe("Roles with more than one live set."),
});

/** Whether the Frontend can serve. */
export const healthAnswer = z.strictObject({
  status: z.enum(["healthy", "not_ready"]),
  why: z.string().nullable(),
  models: z.array(
    z.strictObject({
      id: z.string(),
      ready: z.boolean(),
      mode: mode.nullable(),
      why: why.nullable(),
    }),
  ),
});

/** That the Frontend lives. */
export const liveAnswer = z.strictObject({ status: z.literal("live") });

/** Every error. */
export const errorAnswerSchema = z.object({
  error: z.strictObject({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable().describe("The field at fault, as the client wrote it."),
    code: z.string(),
    stage: z.string().describe("The state of the request in which it happened."),
    request_id: z.string(),
    why: why.optional(),
  }),
});
