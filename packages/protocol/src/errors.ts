/** What one error code means to everyone who meets it. */
export interface ErrorRule {
  /** HTTP status that a client sees. */
  readonly status: number;
  /** `error.type` of the OpenAI error body. */
  readonly type: string;
  /** Whether the same request may succeed when it is sent again. */
  readonly retryable: boolean;
  /** One sentence for people. */
  readonly meaning: string;
}

const rule = (status: number, type: string, retryable: boolean, meaning: string): ErrorRule => ({
  status,
  type,
  retryable,
  meaning,
});
const badRequest = "invalid_request_error";
const server = "server_error";

/** Every error code there is. Clients see those of `docs/errors.md`; the last five stay between actors. */
export const errorRules = {
  invalid_request: rule(
    400,
    badRequest,
    false,
    "A field of the request is missing or has a value that is not allowed.",
  ),
  unsupported: rule(
    400,
    badRequest,
    false,
    "The request asks for something that this model or engine cannot do.",
  ),
  context_length_exceeded: rule(
    400,
    badRequest,
    false,
    "Prompt and requested output do not fit the model's context.",
  ),
  unknown_worker: rule(400, badRequest, false, "The request names a worker that does not exist."),
  unauthenticated: rule(401, "authentication_error", false, "The request carries no valid key."),
  forbidden: rule(403, "permission_error", false, "The key does not allow this."),
  model_not_found: rule(404, "not_found_error", false, "No model of this name is served here."),
  route_not_found: rule(404, "not_found_error", false, "There is no such path."),
  method_not_allowed: rule(405, badRequest, false, "The path exists, the method does not."),
  request_timeout: rule(408, badRequest, true, "The request did not arrive in time."),
  payload_too_large: rule(
    413,
    badRequest,
    false,
    "The body, or what it became on the bus, is over the configured limit.",
  ),
  unsupported_media_type: rule(415, badRequest, false, "The body is not JSON."),
  rate_limited: rule(429, "rate_limit_error", true, "This client sent more than it may."),
  headers_too_large: rule(431, badRequest, false, "The request's head is over the limit."),
  client_gone: rule(
    499,
    "client_gone",
    false,
    "The client closed the connection before the answer was complete.",
  ),
  internal: rule(500, server, false, "Baton has a bug."),
  handoff_refused: rule(502, server, true, "The decode worker refused the handoff ticket."),
  kv_transfer_failed: rule(
    502,
    server,
    true,
    "The KV cache could not be moved between the workers.",
  ),
  engine_protocol: rule(
    502,
    server,
    true,
    "The engine answered something that its protocol does not allow.",
  ),
  engine_failed: rule(502, server, true, "The engine reported an error for this request."),
  not_ready: rule(503, server, true, "The model's needs are not met."),
  prefill_activating: rule(
    503,
    server,
    true,
    "A prefill target stands, but no router serves it yet.",
  ),
  no_worker_available: rule(
    503,
    server,
    true,
    "Workers live, but constraints or pins exclude all of them.",
  ),
  worker_lost: rule(503, server, true, "The worker that ran the request is gone."),
  engine_lost: rule(503, server, true, "The engine process that ran the request is gone."),
  router_lost: rule(503, server, true, "The router that took the request fell silent."),
  bus_unavailable: rule(503, server, true, "The message bus cannot be reached."),
  draining: rule(503, server, true, "This part of the system is shutting down."),
  deadline_exceeded: rule(
    504,
    "timeout_error",
    true,
    "A state of the request took longer than its deadline.",
  ),
  overloaded: rule(529, "overloaded_error", true, "No worker is free, or a queue is full."),
  cancelled: rule(499, "client_gone", false, "The request was cancelled."),
  no_responders: rule(503, server, true, "Nobody listens on the subject."),
  malformed_message: rule(500, server, false, "A message could not be decoded."),
  version_mismatch: rule(
    500,
    server,
    false,
    "A message has a version that this actor does not know.",
  ),
  config_invalid: rule(500, server, false, "An option has a value that is not allowed."),
} as const satisfies Record<string, ErrorRule>;

/** One of the closed list of codes. */
export type ErrorCode = keyof typeof errorRules;

/** Facts of an error: short values that are safe to show and to log. */
export type ErrorDetails = {
  /** One sentence for people, when the code's own does not say enough. */
  readonly problem?: string;
  /** The field of a client's request that is at fault, in the client's words. */
  readonly param?: string;
} & Readonly<Record<string, string | number | boolean | null | readonly string[] | undefined>>;

/** The one error of Baton: a code of the closed table, facts in fields, and the cause. */
export class ServingError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(
    code: ErrorCode,
    details: ErrorDetails = {},
    options: { readonly message?: string; readonly cause?: unknown } = {},
  ) {
    super(options.message ?? describe(code, details), { cause: options.cause });
    this.name = "ServingError";
    this.code = code;
    this.details = details;
  }

  /** Converts anything caught. Used at the edges of an actor only. */
  static from(caught: unknown, code: ErrorCode = "internal"): ServingError {
    if (caught instanceof ServingError) return caught;
    const problem = caught instanceof Error ? caught.message : String(caught);
    return new ServingError(code, { problem }, { cause: caught });
  }
}

/** Whether a text is one of our error codes. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorRules, text);
}

/** An error on the wire: `[code, message, details]`. */
export type WireError = readonly [code: string, message: string, details: ErrorDetails];

/** The wire form of an error. */
export function toWireError(error: ServingError): WireError {
  return [error.code, error.message, error.details];
}

/** The error of a wire form. An unknown code becomes `internal` and is kept in the details. */
export function fromWireError(wire: unknown): ServingError {
  if (!Array.isArray(wire) || typeof wire[0] !== "string" || typeof wire[1] !== "string") {
    return new ServingError("malformed_message", { message: "error" });
  }
  const details = (typeof wire[2] === "object" && wire[2] !== null ? wire[2] : {}) as ErrorDetails;
  if (isErrorCode(wire[0])) return new ServingError(wire[0], details, { message: wire[1] });
  return new ServingError("internal", { ...details, code: wire[0] }, { message: wire[1] });
}

function describe(code: ErrorCode, { problem, routerId, workerId }: ErrorDetails): string {
  if (typeof problem === "string") return problem;
  const { meaning } = errorRules[code];
  const lost = { worker_lost: workerId, router_lost: routerId }[code as string];
  return typeof lost === "string" ? `${meaning.slice(0, -1)}: ${lost}.` : meaning;
}
