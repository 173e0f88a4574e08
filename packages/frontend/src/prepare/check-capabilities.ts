import { type ModelCard, ServingError } from "@baton/protocol";
import type { ServingRequest, WantedOutput } from "../request/serving-request.ts";

/**
 * Options that an engine may lack: the name that its card lists, which is also the client's word, and whether it is
 * asked for. What decides where an output ends (`min_tokens`, `ignore_eos`, `stop_token_ids`) every engine has.
 */
const optionalFeatures: readonly (readonly [
  feature: string,
  isAsked: (output: WantedOutput) => boolean,
])[] = [
  ["n", ({ n }) => n > 1],
  ["logprobs", ({ logprobs }) => logprobs !== undefined],
  ["seed", ({ seed }) => seed !== undefined],
  ["logit_bias", ({ logitBias }) => logitBias !== undefined],
  ["top_k", ({ topK }) => topK !== undefined],
  ["min_p", ({ minP }) => minP !== undefined],
  ["repetition_penalty", ({ repetitionPenalty }) => repetitionPenalty !== undefined],
  ["presence_penalty", ({ presencePenalty }) => presencePenalty !== undefined],
  ["frequency_penalty", ({ frequencyPenalty }) => frequencyPenalty !== undefined],
];

/** Throws `unsupported` for what the model or its engine cannot do, with the field in `param`. */
export function checkCapabilities(
  { model, output, prompt }: ServingRequest,
  card: ModelCard,
): void {
  const endpoint = prompt.kind === "chat" ? "chat" : "completions";
  if (!card.modelType.includes(endpoint)) {
    const problem = `the model '${model}' does not answer ${endpoint}`;
    throw new ServingError("unsupported", { param: "model", problem });
  }
  for (const [feature, isAsked] of optionalFeatures) {
    if (!isAsked(output) || card.capabilities.includes(feature)) continue;
    const problem = `${feature} is not supported by the engine of '${model}'`;
    throw new ServingError("unsupported", { param: feature, problem });
  }
}
