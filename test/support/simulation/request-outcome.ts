import type { AnsweredChoice, SimClient } from "./sim-client.ts";

/** What became of one request, without when. */
export interface RequestOutcome {
  readonly requestId: string;
  readonly kind: "completed" | "failed" | "cancelled" | "none";
  /** Of a failure. */
  readonly code: string | null;
  readonly choices: readonly AnsweredChoice[];
  readonly promptTokens: number | null;
  readonly cachedTokens: number | null;
  /** Where it was dispatched to. */
  readonly workers: readonly string[];
}

/** What a client tells of its request. */
export function outcomeOf(client: SimClient, workers: readonly string[]): RequestOutcome {
  const { answer, end, requestId } = client;
  return {
    requestId,
    kind: end?.kind ?? "none",
    code: end?.kind === "failed" ? end.error.code : null,
    choices: answer,
    promptTokens: end?.summary?.promptTokens ?? null,
    cachedTokens: end?.summary?.cachedTokens ?? null,
    workers,
  };
}
