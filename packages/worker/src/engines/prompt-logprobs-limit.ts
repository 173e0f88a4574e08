import { ServingError } from "@baton/protocol";
import type { EngineJob } from "../engine.ts";

/** Log-probabilities of one prompt at most, alternatives included: all of them travel in one message. */
const maxValues = 262_144;

/** Throws `unsupported` for a job that asks for more log-probabilities of its prompt than a message takes. */
export function checkPromptLogprobs({ tokens, params }: EngineJob): void {
  if (params.promptLogprobs === undefined) return;
  const values = tokens.length * (params.promptLogprobs + 1);
  if (values <= maxValues) return;
  const problem = `${values} log-probabilities of the prompt are more than the ${maxValues} that can be told`;
  throw new ServingError("unsupported", { param: "prompt_logprobs", problem });
}
