import type { ErrorCode } from "../errors.ts";
import type { RequestId } from "../ids.ts";
import { arrayMessage, type MessageType } from "../message-type.ts";

/** The states of a request, as they stand in errors, metrics and timings. */
export const requestStates = [
  "received",
  "preparing",
  "prefill.queued",
  "prefill.running",
  "decode.routing",
  "handoff",
  "decode.queued",
  "decode.running",
  "decode.streaming",
  "completed",
  "failed",
  "cancelled",
] as const;
/** One of the states of a request. */
export type RequestState = (typeof requestStates)[number];

/** What is known at a transition. Absent where it does not apply. */
export interface TransitionDetails {
  readonly workerId?: string;
  readonly generation?: number;
  readonly routerId?: string;
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly outputTokens?: number;
  /** Of `failed` and `cancelled`: the state that it ended in. */
  readonly stage?: RequestState;
  readonly code?: ErrorCode;
  /** The client's own `x-request-id`, at `received`. */
  readonly clientRequestId?: string;
}

/** One state change of one request. */
export type RequestTransition = readonly [
  requestId: RequestId,
  state: RequestState,
  atMs: number,
  details: TransitionDetails,
];

/** State changes of a Frontend's requests. At most 5 ms after the first it holds; dropped and counted under pressure. */
export interface RequestTransitions {
  readonly transitions: readonly RequestTransition[];
}

// v1: [[requestId, state, atMs, details], …]
export const RequestTransitions: MessageType<RequestTransitions> = arrayMessage(
  "request-transitions",
  1,
  ["…transitions"],
  (message) => message.transitions,
  (fields) => ({ transitions: fields.all<RequestTransition>() }),
);
