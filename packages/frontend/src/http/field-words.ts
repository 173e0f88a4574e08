import { ServingError } from "@baton/protocol";
import type { AnswerSink } from "./answers.ts";
import type { Endpoint } from "./parse-body.ts";

/** Fields of a body that `/inference/v1/generate` has at its top level too. */
const topLevel: ReadonlySet<string> = new Set([
  "model",
  "stream",
  "stream_options",
  "cache_salt",
  "request_id",
  "token_ids",
]);

/** An error that came from below HTTP, with its field named as this endpoint's bodies name it. */
export function inWordsOf(endpoint: Endpoint, error: ServingError): ServingError {
  const { param } = error.details;
  if (endpoint !== "generate" || typeof param !== "string") return error;
  const name = fieldOf(param);
  if (name === param) return error;
  const details = { ...error.details, param: name, problem: error.message };
  return new ServingError(error.code, details, { cause: error });
}

/** A sink whose errors name fields in the endpoint's words. */
export function sinkInWordsOf(endpoint: Endpoint, sink: AnswerSink): AnswerSink {
  if (endpoint !== "generate") return sink;
  return {
    began: (prompt, report) => sink.began(prompt, report),
    output: (deltas) => sink.output(deltas),
    ended: (end) =>
      sink.ended(end.kind === "failed" ? { ...end, error: inWordsOf(endpoint, end.error) } : end),
  };
}

function fieldOf(param: string): string {
  if (param === "prompt") return "token_ids";
  const isElsewhere = /^(baton|nvext|x-)/.test(param);
  return isElsewhere || topLevel.has(param) ? param : `sampling_params.${param}`;
}
