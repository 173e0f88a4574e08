import type { BlockHasher } from "@baton/kv-router";
import {
  type EngineRequest,
  type MockSampling,
  mockLogprobOf,
  mockLogprobs,
  mockText,
  type OutputPlan,
  type RequestKind,
  SteeredPlan,
  TextPlan,
  type TextPlanOptions,
} from "@baton/mock-engine";
import {
  type FinishReason,
  type OutputToken,
  ServingError,
  type TokenLogprobs,
  tokensToBytes,
} from "@baton/protocol";
import { readOutputShape } from "@baton/text";
import type { EngineJob } from "../../engine.ts";
import { checkPromptLogprobs } from "../prompt-logprobs-limit.ts";
import { shapePieces } from "./shape-text.ts";

/** What a mock engine makes text with. */
export interface MockVoice {
  readonly hasher: BlockHasher;
  readonly encode: (piece: string) => Uint32Array;
  readonly endOfGenerationIds: ReadonlySet<number>;
  readonly vocabularySize: number;
}

/** One job as the simulated engine takes it. The engine's results carry this very object. */
export interface MockRequest extends EngineRequest {
  readonly job: EngineJob;
  readonly kind: RequestKind;
  /** The first 32 bits of the hash of the prompt's token ids. */
  readonly promptHash: number;
  /** Per choice, what it would say without bias and bans: what log-probabilities tell of. */
  readonly texts: readonly OutputPlan[];
  /** Prompt tokens that the cache held; set when the prompt is computed. */
  cachedTokens: number;
  /** Of a prefill: per choice, as they are sampled. */
  readonly firstTokens: OutputToken[];
  readonly firstFinishes: (FinishReason | null)[];
}

/** Words of the made-up text in a JSON value. */
const jsonWords = 8;

/**
 * Makes the request of a job: its text is a function of prompt, sampling options and choice alone. Throws the `ServingError` of a job
 * that asks for what the simulation cannot do.
 */
export function mockRequest(job: EngineJob, kind: RequestKind, voice: MockVoice): MockRequest {
  const { params, tokens } = job;
  checkPromptLogprobs(job);
  const promptHash = hashPromptTokens(tokens, voice.hasher);
  const texts = textsOf(job, promptHash, voice);
  const { maxTokens, minTokens, ignoreEos, stopTokenIds } = params;
  return {
    id: job.requestId,
    promptTokens: tokens,
    plans: plansOf(job, promptHash, texts, voice),
    rules: {
      maxTokens,
      minTokens: minTokens ?? 0,
      eosTokenIds: voice.endOfGenerationIds,
      ignoreEos: ignoreEos ?? false,
      stopTokenIds: new Set(stopTokenIds),
    },
    texts,
    promptHashes: { blockHashes: job.blockHashes, sequenceHashes: job.sequenceHashes },
    hashSeed: voice.hasher.hashSeed({ lora: job.lora ?? "", salt: job.salt ?? "" }),
    job,
    kind,
    promptHash,
    cachedTokens: 0,
    firstTokens: [],
    firstFinishes: [],
  };
}

/** The log probabilities of one output token, if the request asked for them. */
export function logprobsOf(
  request: MockRequest,
  choice: number,
  position: number,
  token: number,
  vocabularySize: number,
): TokenLogprobs | null {
  const topCount = request.job.params.logprobs;
  if (topCount === undefined) return null;
  const { promptHash } = request;
  const planned = request.texts[choice]?.next(position) ?? token;
  const query = { promptHash, choice, position, token: planned, vocabularySize };
  const { selected, top } = mockLogprobs({ ...query, topCount });
  return {
    chosen: token === planned ? selected.logprob : mockLogprobOf(query, token),
    top: top.map((candidate) => [candidate.token, candidate.logprob] as const),
  };
}

/** The log probabilities of the prompt's tokens after the first; null if the request did not ask. */
export function promptLogprobsOf(
  request: MockRequest,
  vocabularySize: number,
): readonly TokenLogprobs[] | null {
  const topCount = request.job.params.promptLogprobs;
  if (topCount === undefined) return null;
  const told: TokenLogprobs[] = [];
  for (let position = 1; position < request.promptTokens.length; position++) {
    const token = request.promptTokens[position] ?? 0;
    // By place and token alone: prompts that begin alike have the same.
    const query = { promptHash: 0, choice: 0, position, token, topCount, vocabularySize };
    const { selected, top } = mockLogprobs(query);
    told.push({
      chosen: selected.logprob,
      top: top.map((candidate) => [candidate.token, candidate.logprob] as const),
    });
  }
  return told;
}

function hashPromptTokens(tokens: Uint32Array, hasher: BlockHasher): number {
  const hash = hasher.xxh3(tokensToBytes(tokens));
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0, true);
}

function textsOf(job: EngineJob, promptHash: number, voice: MockVoice): OutputPlan[] {
  const { n = 1, temperature = 0, seed = promptHash } = job.params;
  const promptHashHex = promptHash.toString(16).padStart(8, "0");
  const texts: OutputPlan[] = [];
  for (let choice = 0; choice < n; choice++) {
    const sampling = { temperature, seed, choice };
    const form = formOf(job, promptHash, promptHashHex, sampling, voice);
    texts.push(new TextPlan({ promptHashHex, sampling, encode: voice.encode, ...form }));
  }
  return texts;
}

/** What the text of a request with a grammar is, and how it ends. */
function formOf(
  { params }: EngineJob,
  promptHash: number,
  promptHashHex: string,
  sampling: MockSampling,
  voice: MockVoice,
): Pick<TextPlanOptions, "pieceAt" | "endToken"> {
  const { grammar, minTokens = 0, ignoreEos = false, maxTokens } = params;
  if (grammar === undefined) return {};
  const wordAt = (index: number): string => mockText(promptHashHex, 1, sampling, index)[0] ?? "";
  // A word is a token at least.
  const words = Math.max(jsonWords, ignoreEos ? maxTokens : minTokens);
  const pieceAt = shapePieces(readOutputShape(grammar), { promptHash, wordAt, words });
  const [endToken] = voice.endOfGenerationIds;
  return { pieceAt, endToken };
}

function plansOf(
  { params }: EngineJob,
  promptHash: number,
  texts: readonly OutputPlan[],
  voice: MockVoice,
): readonly OutputPlan[] {
  const { logitBias = {}, minTokens = 0, ignoreEos = false, stopTokenIds = [], grammar } = params;
  const bias = new Map(Object.entries(logitBias).map(([token, by]) => [Number(token), by]));
  for (const token of bias.keys()) {
    if (token < voice.vocabularySize) continue;
    const problem = `the token ${token} is outside of the vocabulary`;
    throw new ServingError("invalid_request", { param: "logit_bias", problem });
  }
  if (grammar !== undefined) {
    if (bias.size === 0) return texts;
    const problem = "the made-up text of a grammar has no other tokens that a bias could choose";
    throw new ServingError("unsupported", { param: "logit_bias", problem });
  }
  if (bias.size === 0 && minTokens === 0) return texts;
  const isEnd = (token: number): boolean =>
    stopTokenIds.includes(token) || (!ignoreEos && voice.endOfGenerationIds.has(token));
  const isBanned = (position: number, token: number): boolean =>
    position < minTokens && isEnd(token);
  const { vocabularySize } = voice;
  return texts.map(
    (text, choice) => new SteeredPlan(text, { promptHash, choice, vocabularySize, bias, isBanned }),
  );
}
