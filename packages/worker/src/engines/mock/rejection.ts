import type { RejectionReason } from "@baton/mock-engine";
import { type ErrorCode, ServingError } from "@baton/protocol";

const codes: Readonly<Record<RejectionReason, ErrorCode>> = {
  duplicate_id: "internal",
  empty_prompt: "invalid_request",
  no_output: "invalid_request",
  no_plan: "invalid_request",
  prompt_too_long: "context_length_exceeded",
  exceeds_pool: "context_length_exceeded",
  too_many_sequences: "unsupported",
  hashes_mismatch: "malformed_message",
  first_tokens_mismatch: "handoff_refused",
};

/** What a client is told where the code's own words do not say which limit it met. */
const clientWords: Partial<Record<RejectionReason, { param?: string; problem: string }>> = {
  exceeds_pool: { problem: "the prompt needs more KV blocks than the worker has" },
  too_many_sequences: { param: "n", problem: "n is more choices than the engine runs at once" },
};

/** The error of a request that the simulated engine can never run. */
export function rejectionError(reason: RejectionReason): ServingError {
  return new ServingError(codes[reason], { reason, ...clientWords[reason] });
}
