/** Turns a job's parameters into what the child needs, and refuses what would fail or crash there. */

import { ServingError } from "@baton/protocol";
import type { Random } from "@baton/runtime";
import type { EngineJob } from "../../engine.ts";
import type { Sampling } from "./sampling.ts";

/** What of the loaded model limits a job. */
export interface JobLimits {
  readonly contextLength: number;
  readonly vocabularySize: number;
}

/** Features beyond plain generation, as the model card names them. */
export const llamaCapabilities: readonly string[] = [
  "logprobs",
  "seed",
  "logit_bias",
  "min_tokens",
  "ignore_eos",
  "stop_token_ids",
  "top_k",
  "min_p",
  "repetition_penalty",
  "presence_penalty",
  "frequency_penalty",
];

/** The error of a job that cannot run here; undefined if it can. */
export function refuseJob(job: EngineJob, limits: JobLimits): ServingError | undefined {
  const { params, tokens } = job;
  if (job.lora !== null) return unsupported("lora", "this engine has no adapters");
  if ((params.n ?? 1) > 1) return unsupported("n", "this engine generates one choice");
  if (params.promptLogprobs !== undefined) {
    return unsupported("prompt_logprobs", "this engine reports none for the prompt");
  }
  if (tokens.length === 0) return invalid("prompt", "the prompt has no tokens");
  if (tokens.length >= limits.contextLength) {
    const problem = `${tokens.length} prompt tokens leave no room in ${limits.contextLength}`;
    return new ServingError("context_length_exceeded", { problem });
  }
  // The library does not check: an id beyond the vocabulary may crash it.
  const outside = (token: number): boolean =>
    !Number.isInteger(token) || token < 0 || token >= limits.vocabularySize;
  if (tokens.some(outside)) return invalid("prompt", "a token id is outside of the vocabulary");
  if (
    Object.keys(params.logitBias ?? {})
      .map(Number)
      .some(outside)
  ) {
    return invalid("logit_bias", "a token id is outside of the vocabulary");
  }
  return undefined;
}

/** Every option spelled out; what the request leaves out is neutral. */
export function samplingOf(job: EngineJob, random: Random): Sampling {
  const { params } = job;
  return {
    temperature: params.temperature ?? 1,
    topK: Math.max(0, params.topK ?? 0),
    topP: params.topP ?? 1,
    minP: params.minP ?? 0,
    repetitionPenalty: params.repetitionPenalty ?? 1,
    frequencyPenalty: params.frequencyPenalty ?? 0,
    presencePenalty: params.presencePenalty ?? 0,
    logitBias: Object.entries(params.logitBias ?? {}).map(([token, bias]) => [Number(token), bias]),
    seed: params.seed ?? random.u32(),
    minTokens: params.minTokens ?? 0,
    ignoreEos: params.ignoreEos ?? false,
    stopTokenIds: params.stopTokenIds ?? [],
    logprobs: params.logprobs ?? null,
  };
}

function unsupported(param: string, problem: string): ServingError {
  return new ServingError("unsupported", { param, problem });
}

function invalid(param: string, problem: string): ServingError {
  return new ServingError("invalid_request", { param, problem });
}
