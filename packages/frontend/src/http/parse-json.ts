import { ServingError } from "@baton/protocol";

/** Reads a body as JSON. Throws `invalid_request` with the parser's own words. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    const problem = `the body is not JSON: ${error instanceof Error ? error.message : ""}`;
    throw new ServingError("invalid_request", { problem }, { cause: error });
  }
}
