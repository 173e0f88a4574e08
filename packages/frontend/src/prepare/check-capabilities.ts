import { type ModelCard, ServingError } from "@baton/protocol";
import type { ServingRequest } from "../request/serving-request.ts";

/** One option that an engine may lack. */
interface OptionalFeature {
  /** As cards list it; also the client's word, unless `param` is another. */
  readonly feature: string;
  isAsked(request: ServingRequest): boolean;
  readonly param?: (request: ServingRequest) => string;
  /** How a problem begins, where it is not about one field. */
  readonly words?: string;
}

const optionalFeatures: readonly OptionalFeature[] = [
  { feature: "n", isAsked: ({ output }) => output.n > 1 },
  { feature: "logprobs", isAsked: ({ output }) => output.logprobs !== undefined },
  {
    feature: "prompt_logprobs",
    isAsked: ({ output }) => output.promptLogprobs !== undefined,
    // An echo with logprobs asks for those of the prompt, without their name.
    param: ({ returns }) => (returns?.promptText === true ? "echo" : "prompt_logprobs"),
  },
  { feature: "seed", isAsked: ({ output }) => output.seed !== undefined },
  { feature: "logit_bias", isAsked: ({ output }) => output.logitBias !== undefined },
  { feature: "min_tokens", isAsked: ({ output }) => output.minTokens !== undefined },
  { feature: "ignore_eos", isAsked: ({ output }) => output.ignoreEos !== undefined },
  { feature: "stop_token_ids", isAsked: ({ output }) => output.stopTokenIds !== undefined },
  { feature: "top_k", isAsked: ({ output }) => output.topK !== undefined },
  { feature: "min_p", isAsked: ({ output }) => output.minP !== undefined },
  {
    feature: "repetition_penalty",
    isAsked: ({ output }) => output.repetitionPenalty !== undefined,
  },
  { feature: "presence_penalty", isAsked: ({ output }) => output.presencePenalty !== undefined },
  { feature: "frequency_penalty", isAsked: ({ output }) => output.frequencyPenalty !== undefined },
  {
    feature: "grammar",
    isAsked: ({ output }) => output.grammar !== undefined,
    param: () => "response_format",
  },
  {
    feature: "grammar_logit_bias",
    isAsked: ({ output }) => output.grammar !== undefined && output.logitBias !== undefined,
    param: () => "logit_bias",
    words: "logit_bias beside response_format",
  },
];

/** Throws `unsupported` for what the model or its engine cannot do, with the field in `param`. */
export function checkCapabilities(request: ServingRequest, card: ModelCard): void {
  const { model, prompt } = request;
  const endpoint = prompt.kind === "chat" ? "chat" : "completions";
  if (!card.modelType.includes(endpoint)) {
    const problem = `the model '${model}' does not answer ${endpoint}`;
    throw new ServingError("unsupported", { param: "model", problem });
  }
  for (const { feature, isAsked, param, words } of optionalFeatures) {
    if (!isAsked(request) || card.capabilities.includes(feature)) continue;
    const field = param?.(request) ?? feature;
    const what = words ?? (field === feature ? field : `${field} needs ${feature}, which`);
    const problem = `${what} is not supported by the engine of '${model}'`;
    throw new ServingError("unsupported", { param: field, problem });
  }
}
