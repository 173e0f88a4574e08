import { z } from "zod";
import type { BodyLimits } from "./body-limits.ts";
import { boolean, closedObject, integer, number, text } from "./field-schemas.ts";
import { isTokenIds, promptsSchema, tokenIdSchema, tokenIdsProblem } from "./prompt-schema.ts";
import { responseFormatSchema } from "./response-format-schema.ts";
import { batonSchema, cacheSaltSchema, nvextSchema } from "./routing-schema.ts";

const mostTokens = 2 ** 31 - 1;
const mostLogprobs = 20;

const stopText = () =>
  text()
    .min(1, { error: "must not be empty" })
    .max(1_024, { error: "must be at most 1024 characters" })
    .refine((value) => value.isWellFormed(), { error: "must be well-formed Unicode" });

const maxTokens = () => integer(1, mostTokens).optional();
const alternatives = () => integer(0, mostLogprobs).optional();

/** How the output is sampled and where it ends: the same words in every body. */
function samplingFields({ maxStopTexts }: BodyLimits) {
  return {
    min_tokens: integer(0, mostTokens)
      .optional()
      .describe("No end-of-generation or stop token before so many tokens."),
    temperature: number(0, 2).optional().describe("0 takes the likeliest token."),
    top_p: number(0, 1).optional().describe("Share of probability that is sampled from."),
    top_k: integer(-1, mostTokens)
      .optional()
      .describe("So many tokens are sampled from; 0 and -1: all."),
    min_p: number(0, 1)
      .optional()
      .describe("Tokens less likely than this share of the likeliest are left out."),
    presence_penalty: number(-2, 2).optional(),
    frequency_penalty: number(-2, 2).optional(),
    repetition_penalty: number(0, 10).gt(0, { error: "must be above 0" }).optional(),
    seed: z
      .number({ error: "must be a number" })
      .refine(Number.isInteger, { error: "must be a whole number" })
      .meta({ type: "integer" })
      .optional()
      .describe("The same seed repeats a generation."),
    stop: z
      .union(
        [
          stopText(),
          z
            .array(stopText())
            .max(maxStopTexts, { error: `must hold at most ${maxStopTexts} texts` }),
        ],
        { error: "must be a string or an array of strings" },
      )
      .optional()
      .describe("Texts that end a choice; they are not returned."),
    stop_token_ids: z
      .array(tokenIdSchema(), { error: "must be an array of token ids" })
      .max(128, { error: "must hold at most 128 ids" })
      .optional()
      .describe("Tokens that end a choice; they are counted, and not returned as text."),
    ignore_eos: boolean().optional().describe("Go on where the model would end the generation."),
    logit_bias: z
      .record(z.string(), number(-100, 100), { error: "must map token ids to numbers" })
      .refine((bias) => Object.keys(bias).every((id) => /^\d{1,10}$/.test(id)), {
        error: "must have token ids as keys",
      })
      .refine((bias) => Object.keys(bias).length <= 1_024, {
        error: "must hold at most 1024 tokens",
      })
      .optional()
      .describe("What is added to the logits of tokens, by their ids."),
    n: integer(1, 128).optional().describe("Choices of each prompt."),
    prompt_logprobs: alternatives().describe(
      "The log-probability of each prompt token, and of so many others; not in a stream.",
    ),
  };
}

/** What a body says beside the prompt and how it goes on. */
const requestFields = {
  stream: boolean().optional().describe("Server-sent events in place of one answer."),
  stream_options: closedObject({
    include_usage: boolean().nullish().describe("A last event with what was used."),
    continuous_usage_stats: boolean()
      .nullish()
      .describe("What was used so far in every event; needs `include_usage`."),
    // Pads events against eavesdroppers who see their lengths; there is nothing to pad here.
    include_obfuscation: boolean().nullish(),
  }).optional(),
  cache_salt: cacheSaltSchema
    .optional()
    .describe("Only requests with the same salt share cached prompts."),
  baton: batonSchema.optional(),
  nvext: nvextSchema.optional(),
};

const openAiFields = {
  model: text().min(1, { error: "must not be empty" }),
  user: text().optional().describe("Without effect."),
  response_format: responseFormatSchema
    .optional()
    .describe("The form that the output must have, where the engine can."),
  ...requestFields,
};

const contentPart = z.looseObject({ type: text() }, { error: "must be an object with a type" });

/** One message of a chat. */
export const messageSchema = z.looseObject(
  {
    role: z.enum(["system", "developer", "user", "assistant", "tool", "function"], {
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

/** The messages of a chat. */
export const messagesSchema = z
  .array(messageSchema, { error: "must be an array of messages" })
  .min(1, { error: "must hold at least one message" });

const bodyError = { error: "must be a JSON object" };

/** The body of `POST /v1/chat/completions`. Fields that are not listed and that cannot change the answer are ignored. */
function chatBody(limits: BodyLimits) {
  return z.object(
    {
      ...openAiFields,
      messages: messagesSchema,
      max_tokens: maxTokens().describe("Most tokens of a choice; without it as many as fit."),
      max_completion_tokens: maxTokens().describe("The same, and wins."),
      logprobs: boolean().optional().describe("The log-probability of each token."),
      top_logprobs: alternatives().describe("And of so many others at its place."),
      ...samplingFields(limits),
    },
    bodyError,
  );
}

/** The body of `POST /v1/completions`. */
function completionBody(limits: BodyLimits) {
  return z.object(
    {
      ...openAiFields,
      prompt: promptsSchema(limits),
      // With echo 0 is allowed: the prompt alone.
      max_tokens: integer(0, mostTokens)
        .optional()
        .describe("Most tokens of a choice, 16 without it; 0 with `echo`: the prompt alone."),
      logprobs: alternatives().describe(
        "The log-probability of each token, and of so many others; with `echo` the prompt's too.",
      ),
      echo: boolean().optional().describe("The prompt stands before each of its choices."),
      best_of: integer(1, 128).optional().describe("Taken where it is `n`."),
      ...samplingFields(limits),
    },
    bodyError,
  );
}

/** The body of `POST /inference/v1/generate`. */
function generateBody(limits: BodyLimits) {
  return z.object(
    {
      model: text().min(1, { error: "must not be empty" }).optional(),
      request_id: text()
        .regex(/^[\x21-\x7e]{1,200}$/, { error: "must be 1 to 200 visible ASCII characters" })
        .optional(),
      token_ids: z
        .custom<readonly number[]>(isTokenIds, {
          error: ({ input }) => tokenIdsProblem(input) ?? "must be an array of token ids",
        })
        .meta({ type: "array", items: { type: "integer", minimum: 0 }, minItems: 1 }),
      sampling_params: closedObject({
        max_tokens: maxTokens().describe("Most tokens of a choice; without it as many as fit."),
        logprobs: alternatives().describe(
          "The log-probability of each token, and of so many others.",
        ),
        // The answer has no text either way.
        detokenize: boolean().optional(),
        ...samplingFields(limits),
      }).optional(),
      ...requestFields,
    },
    bodyError,
  );
}

/** The schemas of the bodies that generate. */
export function bodySchemas(limits: BodyLimits) {
  return {
    chat: chatBody(limits),
    completions: completionBody(limits),
    generate: generateBody(limits),
  };
}

/** The schemas of the bodies that generate. */
export type BodySchemas = ReturnType<typeof bodySchemas>;
/** A checked chat body. */
export type ChatBody = z.infer<BodySchemas["chat"]>;
/** A checked completions body. */
export type CompletionBody = z.infer<BodySchemas["completions"]>;
/** A checked body of token ids. */
export type GenerateBody = z.infer<BodySchemas["generate"]>;
/** One message of a checked chat body. */
export type BodyMessage = z.infer<typeof messageSchema>;
