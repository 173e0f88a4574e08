import { ServingError, type TokenLogprobs } from "@baton/protocol";
import type { TextModel } from "../prepare/text-model.ts";
import type { PromptLogprob, PromptReport } from "../request/request-sink.ts";
import type { ServingRequest } from "../request/serving-request.ts";
import { codePointCount, formatPromptLogprobs, KnownTokens } from "./format-logprobs.ts";

/** What a report is made of. */
export interface ReportedPrompt {
  readonly request: ServingRequest;
  readonly text: TextModel;
  readonly promptTokens: number;
  /** Null where the answer repeats nothing of the prompt. */
  readonly tokens: Uint32Array | null;
  /** One entry per prompt token after the first, as a worker said; null if none did. */
  readonly logprobs: readonly (TokenLogprobs | null)[] | null;
}

/**
 * What the answer says of its prompt. Throws `engine_protocol` if the engine did not give the log-probabilities that were
 * asked of it.
 */
export function promptReport(prompt: ReportedPrompt): PromptReport {
  const { request, promptTokens } = prompt;
  return {
    promptTokens,
    text: request.returns?.promptText === true ? promptText(prompt) : null,
    logprobs: request.output.promptLogprobs === undefined ? null : promptLogprobs(prompt),
  };
}

/** A text comes back as it was, and half a surrogate pair as the model saw it. */
function promptText({ request, text, tokens }: ReportedPrompt): string {
  if (request.prompt.kind === "text") return request.prompt.text.toWellFormed();
  const decoder = text.decoder();
  let decoded = "";
  for (const id of tokens ?? []) decoded += decoder.push(id);
  return decoded + decoder.flush();
}

function promptLogprobs({ text, tokens, logprobs }: ReportedPrompt): readonly PromptLogprob[] {
  if (tokens === null || logprobs?.length !== tokens.length - 1) {
    const problem = "the engine did not give the prompt's log-probabilities";
    throw new ServingError("engine_protocol", { problem });
  }
  const decoder = text.decoder();
  const known = new KnownTokens(text);
  let textOffset = 0;
  const reported: PromptLogprob[] = [];
  tokens.forEach((id, at) => {
    const entry = at === 0 ? null : (logprobs[at - 1] ?? null);
    reported.push(formatPromptLogprobs(known, { id, textOffset }, entry));
    textOffset += codePointCount(decoder.push(id));
  });
  return reported;
}
