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

/** The error of a request that the simulated engine can never run. */
export function rejectionError(reason: RejectionReason): ServingError {
  const param = reason === "too_many_sequences" ? "n" : undefined;
  return new ServingError(codes[reason], {
    reason,
    ...(param === undefined ? {} : { param }),
  });
}
