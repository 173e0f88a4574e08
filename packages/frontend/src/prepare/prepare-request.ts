/** Hot path: once per request. Budget: tokenizing, and 60 µs beside it. */
import { type BlockHasher, baseHashSeed, joinHashSalts } from "@baton/kv-router";
import {
  type GenerationParams,
  GenerationWork,
  type ModelCard,
  ServingError,
} from "@baton/protocol";
import type { Random } from "@baton/runtime";
import type { Prompt, ServingRequest } from "../request/serving-request.ts";
import { checkCapabilities } from "./check-capabilities.ts";
import { GrammarCheck } from "./check-grammar.ts";
import type { TextModel } from "./text-model.ts";
import type { TextModels } from "./text-models.ts";

/** A request with everything that routers and workers need, as bytes. */
export interface PreparedRequest {
  readonly text: TextModel;
  readonly blockSize: number;
  readonly promptTokens: number;
  /** Kept only where the answer repeats something of the prompt. */
  readonly tokens: Uint32Array | null;
  readonly blockHashes: Uint8Array;
  readonly sequenceHashes: Uint8Array;
  /** `generation-work` bytes. */
  readonly work: Uint8Array;
}

/** Turns a request into bytes. Rejects with a `ServingError` that is the client's to see. */
export type PrepareRequest = (request: ServingRequest, card: ModelCard) => Promise<PreparedRequest>;

/** What preparing needs. */
export interface PrepareDeps {
  readonly textModels: TextModels;
  readonly hasher: BlockHasher;
  readonly random: Random;
  /** Most log-probabilities of one prompt, alternatives included. */
  readonly maxPromptLogprobs: number;
  /** The largest body that the bus takes, bytes, less what stands around it. */
  readonly maxWorkBytes: () => number;
}

/** What is hashed before the first request: what hashes is compiled, and given memory, when it is first used. */
const warmUpTokens = new Uint32Array(16_384);
const warmUpBlockSize = 16;

/** Makes the function that prepares requests: template, tokens, hashes, bounds, and the body for the worker. Takes some milliseconds. */
export function createPrepareRequest(deps: PrepareDeps): PrepareRequest {
  deps.hasher.sequenceHashes(deps.hasher.blockHashes(warmUpTokens, warmUpBlockSize, baseHashSeed));
  const grammars = new GrammarCheck();
  return async (request, card) => {
    checkCapabilities(request, card);
    grammars.check(request.output);
    const text = await deps.textModels.get(request.model, card.tokenizerChecksum);
    const tokens = await tokensOf(request.prompt, text);
    refuseStrangers(request, text.vocabularySize);
    refuseManyLogprobs(request, tokens.length, deps.maxPromptLogprobs);
    const params = paramsOf(request, tokens.length, card, deps.random);
    const salt = joinHashSalts(card.hashSalt, request.routing?.cacheSalt ?? "");
    const work = GenerationWork.encode({
      tokens,
      params,
      lora: null,
      salt: salt === "" ? null : salt,
    });
    if (work.length > deps.maxWorkBytes()) {
      const problem = `the prompt takes ${work.length} bytes on the bus; ${deps.maxWorkBytes()} are allowed`;
      throw new ServingError("payload_too_large", { problem });
    }
    const seed = salt === "" ? baseHashSeed : deps.hasher.hashSeed({ salt });
    const blockHashes = deps.hasher.blockHashes(tokens, card.blockSize, seed);
    return {
      text,
      blockSize: card.blockSize,
      promptTokens: tokens.length,
      tokens: repeatsPrompt(request) ? tokens : null,
      blockHashes,
      sequenceHashes: deps.hasher.sequenceHashes(blockHashes),
      work,
    };
  };
}

/** A token that the model does not have would be a wish without effect. */
function refuseStrangers({ output }: ServingRequest, vocabularySize: number): void {
  const fields = [
    ["stop_token_ids", output.stopTokenIds],
    ["logit_bias", output.logitBias && Object.keys(output.logitBias).map(Number)],
  ] as const;
  for (const [param, ids] of fields) {
    const stranger = ids?.find((id) => id >= vocabularySize);
    if (stranger === undefined) continue;
    const problem = `${param} names token ${stranger}; the model's vocabulary ends at ${vocabularySize - 1}`;
    throw new ServingError("invalid_request", { param, problem });
  }
}

/** They are written at once, and so are bounded together. */
function refuseManyLogprobs(
  { output, returns }: ServingRequest,
  tokens: number,
  max: number,
): void {
  if (output.promptLogprobs === undefined) return;
  const values = tokens * (output.promptLogprobs + 1);
  if (values <= max) return;
  throw new ServingError("invalid_request", {
    param: returns?.promptText === true ? "echo" : "prompt_logprobs",
    problem: `a prompt of ${tokens} tokens has ${values} log-probabilities; ${max} are allowed`,
  });
}

function repeatsPrompt({ output, returns }: ServingRequest): boolean {
  return returns?.promptText === true || output.promptLogprobs !== undefined;
}

async function tokensOf(prompt: Prompt, text: TextModel): Promise<Uint32Array> {
  switch (prompt.kind) {
    case "chat":
      return notEmpty(
        await text.encode(text.renderChat(prompt.messages), { special: false }),
        "messages",
      );
    case "text":
      return notEmpty(await text.encode(prompt.text, { special: true }));
    case "tokens":
      return notEmpty(known(prompt.tokens, text.vocabularySize));
  }
}

function notEmpty(tokens: Uint32Array, param = "prompt"): Uint32Array {
  if (tokens.length > 0) return tokens;
  throw new ServingError("invalid_request", { param, problem: `${param} must not be empty` });
}

function known(tokens: Uint32Array, vocabularySize: number): Uint32Array {
  const stranger = tokens.find((id) => id >= vocabularySize);
  if (stranger === undefined) return tokens;
  throw new ServingError("invalid_request", {
    param: "prompt",
    problem: `prompt holds token ${stranger}; the model's vocabulary ends at ${vocabularySize - 1}`,
  });
}

function paramsOf(
  { output, prompt }: ServingRequest,
  promptTokens: number,
  card: ModelCard,
  random: Random,
): GenerationParams {
  const { maxTokens: wanted, n, ...rest } = output;
  const promptParam = prompt.kind === "chat" ? "messages" : "prompt";
  const maxTokens = outputBound(wanted, promptTokens, card.contextLength, promptParam);
  const isSampled = rest.temperature !== 0 && card.capabilities.includes("seed");
  return {
    ...rest,
    maxTokens,
    ...(n > 1 ? { n } : {}),
    ...(isSampled && rest.seed === undefined ? { seed: random.u32() } : {}),
  };
}

function outputBound(
  wanted: number | null,
  promptTokens: number,
  contextLength: number,
  promptParam: string,
): number {
  const room = contextLength - promptTokens;
  if (room >= (wanted ?? 1)) return wanted ?? room;
  const asked = wanted === null ? "" : ` and ${wanted} of output were asked for`;
  throw new ServingError("context_length_exceeded", {
    param: wanted === null || room < 1 ? promptParam : "max_tokens",
    problem: `the model's context is ${contextLength} tokens; the prompt has ${promptTokens}${asked}`,
    contextLength,
    promptTokens,
  });
}
