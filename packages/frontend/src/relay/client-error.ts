import { type ErrorCode, ServingError } from "@baton/protocol";

/** What a client is told instead of a code that stays between actors. */
const publicCodes: Partial<Record<ErrorCode, ErrorCode>> = {
  no_responders: "worker_lost",
  cancelled: "engine_failed",
  malformed_message: "internal",
  version_mismatch: "internal",
  config_invalid: "internal",
};

/** The same failure with a code that clients know. */
export function clientError(error: ServingError): ServingError {
  const code = publicCodes[error.code];
  if (code === undefined) return error;
  return new ServingError(code, error.details, { cause: error });
}
