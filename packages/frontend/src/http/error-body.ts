import { type ErrorCode, errorRules, type RequestState, ServingError } from "@baton/protocol";

/** An error as HTTP sends it. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
}

/** Who asked, where it ended, and how overload is said. */
export interface ErrorFrame {
  readonly requestId: string;
  readonly stage: RequestState;
  readonly overloadStatus: number;
}

/** Seconds that a client waits before it asks again. */
export const retryAfterSeconds = "1";
/** Most characters of a message, and of the name of a field. */
const mostMessage = 2_000;
const mostParam = 300;
const waitingStatuses: ReadonlySet<number> = new Set([429, 503, 529]);

/** The OpenAI error body with `stage` and `request_id`, its status and its headers. */
export function errorAnswer(error: ServingError, frame: ErrorFrame): ErrorAnswer {
  const rule = errorRules[error.code];
  const status = error.code === "overloaded" ? frame.overloadStatus : rule.status;
  const waits = rule.retryable && (waitingStatuses.has(rule.status) || status === 429);
  return {
    status,
    headers: {
      "content-type": "application/json; charset=utf-8",
      ...(waits ? { "retry-after": retryAfterSeconds } : {}),
      // OpenAI's clients ask again after every 5xx unless they are told not to.
      ...(status >= 500 && !rule.retryable ? { "x-should-retry": "false" } : {}),
      // Asking again over the same connection would come here again.
      ...(error.code === "draining" ? { connection: "close" } : {}),
    },
    body: JSON.stringify({ error: errorObject(error, frame.stage, frame.requestId) }),
  };
}

/** The `error` object, for a body or for an event in a stream. */
export function errorObject(error: ServingError, stage: RequestState, requestId: string) {
  const { param, why } = error.details;
  return {
    message: shortened(messageOf(error), mostMessage),
    type: errorRules[error.code].type,
    param: typeof param === "string" ? shortened(param, mostParam) : null,
    code: error.code,
    stage,
    request_id: requestId,
    ...(typeof why === "string" && isWhy(error.code)
      ? { why: { code: why, text: shortened(error.message, mostMessage) } }
      : {}),
  };
}

/** What is said of a request may be the client's own text, of any length. */
function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}

function isWhy(code: ErrorCode): boolean {
  return code === "not_ready" || code === "prefill_activating";
}

/** What went wrong inside is for the log: a client learns that it was our fault. */
function messageOf(error: ServingError): string {
  return error.code === "internal" ? errorRules.internal.meaning : error.message;
}

/** The error of a request that HTTP itself refuses. */
export function refusal(code: ErrorCode, problem: string): ServingError {
  return new ServingError(code, { problem });
}
