import type { RequestState } from "@baton/protocol";
import type { RequestSummary } from "../request/request-sink.ts";
import type { AnswerWish } from "./parse-body.ts";

/** The `nvext` object of an answer: what `nvext.extra_fields` asked for; null if it asked for nothing. */
export function nvextObject(summary: RequestSummary, wish: AnswerWish) {
  if (!wish.includeWorkerIds && !wish.includeNvextTiming) return null;
  return {
    ...(wish.includeWorkerIds ? { worker_id: workerIds(summary) } : {}),
    ...(wish.includeNvextTiming ? { timing: timing(summary) } : {}),
  };
}

/** Where one worker did both halves, it stands for both. */
function workerIds(summary: RequestSummary) {
  const { decodeWorker, decodeDpRank } = summary;
  const isRelay = summary.mode === "disaggregated";
  return {
    prefill_worker_id: isRelay ? summary.prefillWorker : decodeWorker,
    prefill_dp_rank: isRelay ? summary.prefillDpRank : decodeDpRank,
    decode_worker_id: decodeWorker,
    decode_dp_rank: decodeDpRank,
  };
}

/** Before the prompt is computed, whoever computes it. */
const waiting: readonly RequestState[] = [
  "received",
  "preparing",
  "prefill.queued",
  "decode.queued",
];
/** Up to the first token: where prefill is a leg of its own, its token counts. */
const computing: readonly RequestState[] = ["prefill.running", "decode.running"];
/** From the prefill's token to the first of the decode worker. */
const moving: readonly RequestState[] = ["decode.routing", "handoff"];

/** Milliseconds, but for the share of the prompt that was cached; what is not known is absent. */
function timing({ kvHitRate, mode, receivedAtMs, timingMs }: RequestSummary) {
  const sum = (states: readonly RequestState[]) =>
    toMicroseconds(states.reduce((total, state) => total + (timingMs[state] ?? 0), 0));
  const waitMs = sum(waiting);
  const prefillMs = sum(computing);
  const isHandedOff = mode === "disaggregated" && timingMs.handoff !== undefined;
  return {
    request_received_ms: toMicroseconds(receivedAtMs),
    prefill_wait_time_ms: waitMs,
    prefill_time_ms: prefillMs,
    ttft_ms: toMicroseconds(waitMs + prefillMs),
    total_time_ms: sum(Object.keys(timingMs) as RequestState[]),
    ...(kvHitRate === null ? {} : { kv_hit_rate: kvHitRate }),
    ...(isHandedOff ? { kv_transfer_estimated_latency_ms: sum(moving) } : {}),
  };
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
