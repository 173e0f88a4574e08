import { z } from "zod";
import { boolean, text } from "./field-schemas.ts";
import { isTokenIds, tokenIdsProblem } from "./prompt-schema.ts";
import { messagesSchema } from "./request-schema.ts";

const model = () => text().min(1, { error: "must not be empty" }).optional();
const bodyError = { error: "must be a JSON object" };

/** The body of `POST /tokenize`: a prompt, or the messages of a chat. */
export const tokenizeBodySchema = z
  .object(
    {
      model: model(),
      prompt: text().optional(),
      messages: messagesSchema.optional(),
      add_special_tokens: boolean().optional(),
      add_generation_prompt: boolean().optional(),
      return_token_strs: boolean().optional(),
    },
    bodyError,
  )
  .superRefine(({ prompt, messages, add_generation_prompt: opens }, context) => {
    const issue = (field: string, message: string) =>
      context.addIssue({ code: "custom", path: [field], message });
    if (prompt === undefined && messages === undefined) issue("prompt", "is required");
    if (prompt === undefined) return;
    if (messages !== undefined) issue("messages", "and prompt exclude each other");
    if (opens !== undefined) issue("add_generation_prompt", "needs messages");
  });

/** The body of `POST /detokenize`. */
export const detokenizeBodySchema = z.object(
  {
    model: model(),
    tokens: z
      .custom<readonly number[]>(
        (value) => isTokenIds(value) || (Array.isArray(value) && value.length === 0),
        { error: ({ input }) => tokenIdsProblem(input) ?? "must be an array of token ids" },
      )
      .meta({ type: "array", items: { type: "integer", minimum: 0 } }),
  },
  bodyError,
);
