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
