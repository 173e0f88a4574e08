import { z } from "zod";
import { boolean, integer, number, text } from "./field-schemas.ts";
import { batonSchema, cacheSaltSchema, nvextSchema } from "./routing-schema.ts";

const tokenId = () => z.custom<number>(isTokenId, { error: "must be a token id" });

const maxTokens = () => integer(1, 2 ** 31 - 1).optional();
const stopText = text().min(1, { error: "must not be empty" }).max(1_024, {
  error: "must be at most 1024 characters",
});

/** What both endpoints take. Fields that are not listed and that cannot change the answer are ignored. */
const generationFields = {
  model: text().min(1, { error: "must not be empty" }),
  max_tokens: maxTokens(),
  min_tokens: integer(0, 2 ** 31 - 1).optional(),
  temperature: number(0, 2).optional(),
  top_p: number(0, 1).gt(0, { error: "must be above 0" }).optional(),
  top_k: integer(-1, 2 ** 31 - 1).optional(),
  min_p: number(0, 1).optional(),
  presence_penalty: number(-2, 2).optional(),
  frequency_penalty: number(-2, 2).optional(),
  repetition_penalty: number(0, 10).gt(0, { error: "must be above 0" }).optional(),
  seed: z
    .number({ error: "must be a number" })
    .refine(Number.isInteger, { error: "must be a whole number" })
    .optional(),
  stop: z
    .union([stopText, z.array(stopText).max(16, { error: "must hold at most 16 texts" })], {
      error: "must be a string that is not empty, or an array of at most 16 such strings",
    })
    .optional(),
  stop_token_ids: z
    .array(tokenId(), { error: "must be an array of token ids" })
    .max(128, { error: "must hold at most 128 ids" })
    .optional(),
  ignore_eos: boolean().optional(),
  logit_bias: z
    .record(
      z.string().regex(/^\d{1,10}$/, { error: "must have token ids as keys" }),
      number(-100, 100),
      { error: "must map token ids to numbers" },
    )
    .refine((bias) => Object.keys(bias).length <= 1_024, {
      error: "must hold at most 1024 tokens",
    })
    .optional(),
  n: integer(1, 128).optional(),
  stream: boolean().optional(),
  stream_options: z
    .object({ include_usage: boolean().nullish() }, { error: "must be an object" })
    .optional(),
  cache_salt: cacheSaltSchema.optional(),
  baton: batonSchema.optional(),
  nvext: nvextSchema.optional(),
};

/** A plain loop: a schema of a million ids would make a million reports of one mistake. */
function isPrompt(value: unknown): value is string | readonly number[] {
  if (typeof value === "string") return true;
  return Array.isArray(value) && value.length > 0 && value.every(isTokenId);
}

function isTokenId(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < 2 ** 32 && Number.isInteger(value);
}

const contentPart = z.looseObject({ type: text() }, { error: "must be an object with a type" });
const message = z.looseObject(
  {
    role: z.enum(["system", "developer", "user", "assistant"], {
      error: "must be 'system', 'developer', 'user' or 'assistant'",
    }),
    content: z
      .union([z.string(), z.array(contentPart)], {
        error: "must be a string or an array of content parts",
      })
      .nullish(),
    name: text().nullish(),
  },
  { error: "must be an object" },
);

/** The body of `POST /v1/chat/completions`. */
export const chatBodySchema = z.object(
  {
    ...generationFields,
    messages: z
      .array(message, { error: "must be an array of messages" })
      .min(1, { error: "must hold at least one message" }),
    max_completion_tokens: maxTokens(),
    logprobs: boolean().optional(),
    top_logprobs: integer(0, 20).optional(),
  },
  { error: "must be a JSON object" },
);

/** The body of `POST /v1/completions`. */
export const completionBodySchema = z.object(
  {
    ...generationFields,
    prompt: z.custom<string | readonly number[]>(isPrompt, {
      error: "must be one string or one array of token ids",
    }),
    logprobs: integer(0, 20).optional(),
  },
  { error: "must be a JSON object" },
);

/** A checked chat body. */
export type ChatBody = z.infer<typeof chatBodySchema>;
/** A checked completions body. */
export type CompletionBody = z.infer<typeof completionBodySchema>;
/** One message of a checked chat body. */
export type BodyMessage = ChatBody["messages"][number];
