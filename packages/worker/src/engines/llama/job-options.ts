/** Turns a job's parameters into what the child needs, and refuses what would fail or crash there. */

import { ServingError } from "@baton/protocol";
import type { Random } from "@baton/runtime";
import { readOutputShape } from "@baton/text";
import type { EngineJob } from "../../engine.ts";
import { checkPromptLogprobs } from "../prompt-logprobs-limit.ts";
import type { Sampling } from "./sampling.ts";
import { writeShapeGrammar } from "./shape-grammar.ts";

/** What of the loaded model limits a job. */
export interface JobLimits {
  readonly contextLength: number;
  readonly vocabularySize: number;
  readonly hasGrammars: boolean;
}

/** Features beyond plain generation, as the model card names them. */
const capabilities: readonly string[] = [
  "logprobs",
  "prompt_logprobs",
  "n",
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

/** The features of a loaded engine. */
export function llamaCapabilities(limits: Pick<JobLimits, "hasGrammars">): readonly string[] {
  return limits.hasGrammars ? [...capabilities, "grammar", "grammar_logit_bias"] : capabilities;
}

/** Throws the error of a job that cannot run here. */
export function checkJob(job: EngineJob, limits: JobLimits): void {
  const { params, tokens } = job;
  if (job.lora !== null) throw unsupported("lora", "this engine has no adapters");
  if (params.grammar !== undefined && !limits.hasGrammars) {
    throw unsupported("response_format", "this build of the library has no grammars");
  }
  checkPromptLogprobs(job);
  if (tokens.length === 0) throw invalid("prompt", "the prompt has no tokens");
  if (tokens.length >= limits.contextLength) {
    const problem = `${tokens.length} prompt tokens leave no room in ${limits.contextLength}`;
    throw new ServingError("context_length_exceeded", { problem });
  }
  // The library does not check: an id beyond the vocabulary may crash it.
  const outside = (token: number): boolean =>
    !Number.isInteger(token) || token < 0 || token >= limits.vocabularySize;
  if (tokens.some(outside)) throw invalid("prompt", "a token id is outside of the vocabulary");
  if (
    Object.keys(params.logitBias ?? {})
      .map(Number)
      .some(outside)
  ) {
    throw invalid("logit_bias", "a token id is outside of the vocabulary");
  }
}

/** Every option spelled out; what the request leaves out is neutral. Throws for a grammar that cannot be kept to. */
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
    grammar:
      params.grammar === undefined ? null : writeShapeGrammar(readOutputShape(params.grammar)),
  };
}

function unsupported(param: string, problem: string): ServingError {
  return new ServingError("unsupported", { param, problem });
}

function invalid(param: string, problem: string): ServingError {
  return new ServingError("invalid_request", { param, problem });
}
