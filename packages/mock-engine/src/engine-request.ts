import type { HashSeed } from "./block-hasher.ts";

/** What one sequence of a request will say. The same plan on every worker makes a handed-off generation equal to an aggregated one. */
export interface OutputPlan {
  /** The token id at this output position (0 is the first token), or none if the text ends here. Called in rising order, again after a handoff. */
  next(index: number): number | undefined;
}

/** When a generation ends. */
export interface EndRules {
  /** At least 1. */
  readonly maxTokens: number;
  /** Before so many tokens neither eos nor a stop token ends the generation. Default 0. */
  readonly minTokens?: number | undefined;
  /** Tokens that end a generation as `eos`, unless `ignoreEos`. */
  readonly eosTokenIds?: ReadonlySet<number> | undefined;
  readonly ignoreEos?: boolean | undefined;
  /** Tokens that end a generation as `stop`. */
  readonly stopTokenIds?: ReadonlySet<number> | undefined;
}

/** The prompt's complete blocks, hashed by someone else: 8 bytes a block in both, floor(prompt tokens / block size) blocks. */
export interface PromptHashes {
  readonly blockHashes: Uint8Array;
  readonly sequenceHashes: Uint8Array;
}

/** A request as the engine takes it. Hosts add fields of their own: results carry the very object that was given. */
export interface EngineRequest {
  /** Unique among the requests that the engine holds. */
  readonly id: string;
  readonly promptTokens: Uint32Array;
  /** One plan per sequence (`n`), at least one. */
  readonly plans: readonly OutputPlan[];
  readonly rules: EndRules;
  /** Computed by the engine if absent. */
  readonly promptHashes?: PromptHashes | undefined;
  /** Seed of the block hashes (adapter and salt), handed to the hasher. */
  readonly hashSeed?: HashSeed | undefined;
}

/**
 * - `generate`: prefill and decode here.
 * - `prefill`: stop after the first token and stage the KV.
 * - `decode`: the prompt's KV comes from elsewhere.
 */
export type RequestKind = "generate" | "prefill" | "decode";

/** Why a request can never run here. */
export type RejectionReason =
  | "duplicate_id"
  | "empty_prompt"
  | "no_output"
  | "no_plan"
  | "prompt_too_long"
  | "exceeds_pool"
  | "too_many_sequences"
  | "hashes_mismatch"
  | "first_tokens_mismatch";

export interface Rejected {
  readonly kind: "rejected";
  readonly reason: RejectionReason;
}

/** What became of a new request. */
export type AddOutcome = { readonly kind: "accepted" } | Rejected;

/** What bounds a request. */
export interface AdmissionLimits {
  readonly blockCount: number;
  readonly blockSize: number;
  /** A prompt must be shorter; a sequence ends as `length` at this many tokens. */
  readonly maxModelLen: number;
  readonly maxNumSeqs: number;
}

/** Why the request can never run within these limits, or nothing if it can. */
export function rejectionOf(
  request: EngineRequest,
  limits: AdmissionLimits,
): RejectionReason | undefined {
  const promptLength = request.promptTokens.length;
  if (promptLength === 0) return "empty_prompt";
  if (!(request.rules.maxTokens >= 1)) return "no_output";
  if (request.plans.length === 0) return "no_plan";
  if (request.plans.length > limits.maxNumSeqs) return "too_many_sequences";
  if (promptLength >= limits.maxModelLen) return "prompt_too_long";
  if (Math.ceil(promptLength / limits.blockSize) > limits.blockCount) return "exceeds_pool";
  if (hashesMismatch(request, limits.blockSize)) return "hashes_mismatch";
  return undefined;
}

function hashesMismatch(request: EngineRequest, blockSize: number): boolean {
  const hashes = request.promptHashes;
  if (hashes === undefined) return false;
  const bytes = Math.floor(request.promptTokens.length / blockSize) * 8;
  return hashes.blockHashes.length !== bytes || hashes.sequenceHashes.length !== bytes;
}
