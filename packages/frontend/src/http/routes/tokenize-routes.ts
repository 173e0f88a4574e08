import type { FastifyReply, FastifyRequest } from "fastify";
import type { TokenizeAsk, TokenizedPrompt, TokenizePort } from "../../relay/tokenize-port.ts";
import { check, invalid, refuseTooMuch, withoutNulls } from "../check-body.ts";
import { detokenizeAnswer, tokenizeAnswer } from "../openapi/answer-schemas.ts";
import type { OnlyModel } from "../parse-body.ts";
import { readMessages } from "../read-messages.ts";
import type { Replies } from "../replies.ts";
import { detokenizeBodySchema, tokenizeBodySchema } from "../tokenize-schema.ts";
import { refuseUnservedFields } from "../unserved-fields.ts";
import { type ApiRoute, bodyErrors } from "./api-route.ts";

/** What the routes that tokenize stand on. */
export interface TokenizeRoutesDeps {
  readonly tokenizer: TokenizePort;
  readonly onlyModel: OnlyModel;
  readonly replies: Replies;
}

/** Tokens of a text and the text of tokens, in vLLM's words. */
export function tokenizeRoutes(deps: TokenizeRoutesDeps): readonly ApiRoute[] {
  const answering =
    (answer: (body: unknown) => Promise<string>) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      deps.replies.sendJson(request, reply, await answer(request.body));
    };
  return [
    {
      method: "POST",
      path: "/tokenize",
      docs: [
        {
          path: "/tokenize",
          name: "Tokenize",
          summary: "The tokens that a prompt or a chat has.",
          body: tokenizeBodySchema,
          answer: tokenizeAnswer,
          errors: bodyErrors,
        },
      ],
      handle: answering(async (body) => {
        const { ask, withTexts } = readTokenize(body, deps.onlyModel);
        return tokenizedBody(await deps.tokenizer.tokenize(ask), withTexts);
      }),
    },
    {
      method: "POST",
      path: "/detokenize",
      docs: [
        {
          path: "/detokenize",
          name: "Detokenize",
          summary: "The text of tokens, special ones included.",
          body: detokenizeBodySchema,
          answer: detokenizeAnswer,
          errors: bodyErrors,
        },
      ],
      handle: answering(async (body) => {
        const { model, tokens } = readDetokenize(body, deps.onlyModel);
        return JSON.stringify({ prompt: await deps.tokenizer.detokenize(model, tokens) });
      }),
    },
  ];
}

function readTokenize(raw: unknown, onlyModel: OnlyModel) {
  const plain = withoutNulls(raw);
  refuseUnservedFields("tokenize", plain);
  refuseTooMuch(plain);
  const body = check(tokenizeBodySchema, plain);
  const ask: TokenizeAsk = {
    model: modelOf(body.model, onlyModel),
    prompt:
      body.messages === undefined
        ? { kind: "text", text: body.prompt ?? "" }
        : {
            kind: "chat",
            messages: readMessages(body.messages),
            opensTurn: body.add_generation_prompt ?? true,
          },
    // A chat's template writes them itself.
    special: body.add_special_tokens ?? body.messages === undefined,
  };
  return { ask, withTexts: body.return_token_strs === true };
}

function readDetokenize(raw: unknown, onlyModel: OnlyModel) {
  const plain = withoutNulls(raw);
  refuseUnservedFields("tokenize", plain);
  refuseTooMuch(plain);
  const { model, tokens } = check(detokenizeBodySchema, plain);
  return { model: modelOf(model, onlyModel), tokens };
}

function modelOf(named: string | undefined, onlyModel: OnlyModel): string {
  const model = named ?? onlyModel();
  if (model === null) throw invalid("model", "model is required");
  return model;
}

/** The ids are written by hand: `JSON.stringify` takes three times as long for a million of them. */
function tokenizedBody(
  { tokens, contextLength, textOf }: TokenizedPrompt,
  withTexts: boolean,
): string {
  const texts = withTexts ? JSON.stringify(Array.from(tokens, textOf)) : "null";
  return `{"count":${tokens.length},"max_model_len":${contextLength},"tokens":[${tokens.join(",")}],"token_strs":${texts}}`;
}
