import { ServingError } from "@baton/protocol";

/** A grammar is a client's `response_format`. */
const param = "response_format";

/** The error of a grammar that is none, or that nothing can satisfy. */
export function invalidGrammar(problem: string, cause?: unknown): ServingError {
  return new ServingError("invalid_request", { param, problem }, { cause });
}

/** The error of a grammar that cannot be kept to, with what of it. */
export function unsupportedGrammar(what: string): ServingError {
  return new ServingError("unsupported", {
    param,
    problem: `${what} is not supported in a JSON schema`,
  });
}

/** The same error, with the place in the schema, a JSON pointer that begins with `#`. */
export function placedGrammar(error: ServingError, place: string): ServingError {
  const { problem } = error.details;
  const details = { ...error.details, problem: `${problem}, at ${place}` };
  return new ServingError(error.code, details, { cause: error.cause });
}
