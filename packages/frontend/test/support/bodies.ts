import { requestId, ServingError } from "@baton/protocol";
import type { AnswerFrame } from "../../src/http/answer-json.ts";
import { defaultBodyLimits } from "../../src/http/body-limits.ts";
import { type AnswerWish, BodyParser, type Endpoint } from "../../src/http/parse-body.ts";
import type { OutputLogprob } from "../../src/request/request-sink.ts";

/** An answer in one piece with nothing beside what every answer has. */
export const plainWish: AnswerWish = {
  stream: false,
  includeUsage: false,
  continuousUsage: false,
  echo: false,
  echoOnly: false,
  includePromptLogprobs: false,
  includeRoute: false,
  includeTiming: false,
  includeWorkerIds: false,
  includeNvextTiming: false,
};

/** The frame of a chat's answer. */
export const chatFrame: AnswerFrame = {
  endpoint: "chat",
  requestId: "r1",
  clientRequestId: null,
  model: "m",
  created: 5,
  choicesPerPrompt: 1,
  wish: plainWish,
};

/** What comes with a body. */
export const bodyFrame = { requestId: requestId("r1"), clientRequestId: null, traceparent: null };

/** Reads bodies within the usual limits. */
export const bodyParser = new BodyParser(defaultBodyLimits);

/** What the client of a body is told: `taken`, or code, field and words. */
export function refusalOf(endpoint: Endpoint, body: unknown): string {
  try {
    bodyParser.parse(endpoint, body, bodyFrame);
    return "taken";
  } catch (caught) {
    const error = ServingError.from(caught);
    return `${error.code} ${error.details.param ?? "-"}: ${error.message}`;
  }
}

/** The logprob of one output token. */
export function logprobOf(token: string, changes: Partial<OutputLogprob> = {}): OutputLogprob {
  const bytes = [...Buffer.from(token)];
  return { id: bytes[0] ?? 0, token, logprob: -1, bytes, top: [], textOffset: 0, ...changes };
}
