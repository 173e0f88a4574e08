import type { RequestState } from "@baton/protocol";
import type { RequestSummary } from "../request/request-sink.ts";
import { nvextObject } from "./nvext-json.ts";
import type { AnswerWish } from "./parse-body.ts";

/** The summaries of all prompts of one body; one for each. */
export type Summaries = readonly [RequestSummary, ...RequestSummary[]];

/** What stands at the end of an answer beside its choices: `usage`, and what else was asked for. */
export function summaryFields(summaries: Summaries, wish: AnswerWish, withUsage: boolean) {
  const whole = mergeSummaries(summaries);
  const baton = batonObject(whole, wish);
  const nvext = nvextObject(whole, wish);
  const prompts =
    summaries.length === 1 ? {} : { prompts: summaries.map((one) => batonObject(one, wish)) };
  return {
    ...(withUsage ? { usage: usageObject(whole) } : {}),
    ...(baton === null ? {} : { baton: { ...baton, ...prompts } }),
    ...(nvext === null ? {} : { nvext }),
  };
}

/** What was used so far. */
export function usageSoFar(promptTokens: number, outputTokens: number) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
  };
}

/** Several prompts as one: what they share, their tokens together, the longest time in each state. */
export function mergeSummaries(summaries: Summaries): RequestSummary {
  const [first, ...others] = summaries;
  return others.reduce<RequestSummary>(
    (whole, one) => ({
      mode: shared(whole.mode, one.mode),
      prefillWorker: shared(whole.prefillWorker, one.prefillWorker),
      decodeWorker: shared(whole.decodeWorker, one.decodeWorker),
      prefillDpRank: shared(whole.prefillDpRank, one.prefillDpRank),
      decodeDpRank: shared(whole.decodeDpRank, one.decodeDpRank),
      receivedAtMs: Math.min(whole.receivedAtMs, one.receivedAtMs),
      kvHitRate: shared(whole.kvHitRate, one.kvHitRate),
      promptTokens: whole.promptTokens + one.promptTokens,
      cachedTokens: whole.cachedTokens + one.cachedTokens,
      outputTokens: whole.outputTokens + one.outputTokens,
      timingMs: longest(whole.timingMs, one.timingMs),
    }),
    first,
  );
}

function shared<T>(left: T, right: T): T | null {
  return left === right ? left : null;
}

function longest(
  left: RequestSummary["timingMs"],
  right: RequestSummary["timingMs"],
): RequestSummary["timingMs"] {
  const times: Partial<Record<RequestState, number>> = { ...left };
  for (const [state, ms] of Object.entries(right) as [RequestState, number][]) {
    times[state] = Math.max(times[state] ?? 0, ms);
  }
  return times;
}

function usageObject({ promptTokens, outputTokens, cachedTokens }: RequestSummary) {
  return {
    ...usageSoFar(promptTokens, outputTokens),
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}

function batonObject(summary: RequestSummary, wish: AnswerWish) {
  if (!wish.includeRoute && !wish.includeTiming) return null;
  const route = {
    mode: summary.mode,
    prefill_worker: summary.prefillWorker,
    decode_worker: summary.decodeWorker,
  };
  return {
    ...(wish.includeRoute ? route : {}),
    ...(wish.includeTiming ? { timing_ms: toMicroseconds(summary.timingMs) } : {}),
  };
}

/** Times as people read them: milliseconds to the microsecond. */
function toMicroseconds(timingMs: RequestSummary["timingMs"]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(timingMs).map(([state, ms]) => [state, Math.round(ms * 1_000) / 1_000]),
  );
}
