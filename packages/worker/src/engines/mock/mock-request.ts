import type { BlockHasher } from "@baton/kv-router";
import {
  type EngineRequest,
  mockLogprobs,
  type OutputPlan,
  type RequestKind,
  TextPlan,
} from "@baton/mock-engine";
import {
  type FinishReason,
  type OutputToken,
  type TokenLogprobs,
  tokensToBytes,
} from "@baton/protocol";
import type { EngineJob } from "../../engine.ts";

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
  /** Prompt tokens that the cache held; set when the prompt is computed. */
  cachedTokens: number;
  /** Of a prefill: per choice, as they are sampled. */
  readonly firstTokens: OutputToken[];
  readonly firstFinishes: (FinishReason | null)[];
}

/** Makes the request of a job: its text is a function of prompt, sampling options and choice alone. */
export function mockRequest(job: EngineJob, kind: RequestKind, voice: MockVoice): MockRequest {
  const { params, tokens } = job;
  const promptHash = hashPromptTokens(tokens, voice.hasher);
  const { maxTokens, minTokens, ignoreEos, stopTokenIds } = params;
  return {
    id: job.requestId,
    promptTokens: tokens,
    plans: plansOf(job, promptHash, voice),
    rules: {
      maxTokens,
      minTokens: minTokens ?? 0,
      eosTokenIds: voice.endOfGenerationIds,
      ignoreEos: ignoreEos ?? false,
      stopTokenIds: new Set(stopTokenIds),
    },
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
  const { selected, top } = mockLogprobs({
    promptHash,
    choice,
    position,
    token,
    topCount,
    vocabularySize,
  });
  return {
    chosen: selected.logprob,
    top: top.map((candidate) => [candidate.token, candidate.logprob] as const),
  };
}

function hashPromptTokens(tokens: Uint32Array, hasher: BlockHasher): number {
  const hash = hasher.xxh3(tokensToBytes(tokens));
  return new DataView(hash.buffer, hash.byteOffset).getUint32(0, true);
}

function plansOf(job: EngineJob, promptHash: number, voice: MockVoice): OutputPlan[] {
  const { n = 1, temperature = 0, seed = promptHash } = job.params;
  const promptHashHex = promptHash.toString(16).padStart(8, "0");
  const plans: OutputPlan[] = [];
  for (let choice = 0; choice < n; choice++) {
    const sampling = { temperature, seed, choice };
    plans.push(new TextPlan({ promptHashHex, sampling, encode: voice.encode }));
  }
  return plans;
}
