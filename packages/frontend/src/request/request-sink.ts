import type { FinishReason, RequestState, ServingError, WorkerId } from "@baton/protocol";

/** How a request was served. */
export type ServingMode = "disaggregated" | "aggregated" | "decode-only";

/** One alternative at a position. */
export interface TextLogprob {
  /** The token's id. */
  readonly id: number;
  /** The token as text; bytes that are no UTF-8 by themselves are U+FFFD. */
  readonly token: string;
  /** Natural logarithm. */
  readonly logprob: number;
  readonly bytes: readonly number[];
}

/** One output token with its log-probability and the most likely alternatives, best first. */
export interface OutputLogprob extends TextLogprob {
  readonly top: readonly TextLogprob[];
  /** Code points of the choice's, or the prompt's, text before this token. */
  readonly textOffset: number;
}

/** One prompt token. Nobody knows how likely the first one was. */
export interface PromptLogprob extends Omit<OutputLogprob, "logprob"> {
  readonly logprob: number | null;
}

/** What is known of a prompt when its answer begins. */
export interface PromptReport {
  readonly promptTokens: number;
  /** The prompt as text; null unless the request wants it back. */
  readonly text: string | null;
  /** One per prompt token; null if none were asked for. */
  readonly logprobs: readonly PromptLogprob[] | null;
}

/** What is new of one choice. */
export interface OutputDelta {
  /** 0 to n − 1. */
  readonly choice: number;
  /** May be empty: text that may still become a stop text, or half a character, is held back. */
  readonly text: string;
  /** One per new token, null if none were asked for. */
  readonly logprobs: readonly OutputLogprob[] | null;
  /** The new tokens that are counted, one that ends the choice among them; null if the request does not want them. */
  readonly tokens: readonly number[] | null;
  /** Tokens of the choice that were returned so far. */
  readonly outputTokens: number;
  /** Set with the last delta of the choice. */
  readonly finishReason: FinishReason | null;
}

/** What is known of a request at its end. */
export interface RequestSummary {
  readonly mode: ServingMode | null;
  readonly prefillWorker: WorkerId | null;
  readonly decodeWorker: WorkerId | null;
  /** Null if nobody has said. */
  readonly prefillDpRank: number | null;
  readonly decodeDpRank: number | null;
  /** Epoch ms. */
  readonly receivedAtMs: number;
  /** Share of the prompt's blocks that the router took the worker to hold, 0 to 1; null if nobody has said. */
  readonly kvHitRate: number | null;
  readonly promptTokens: number;
  /** Prompt tokens that were not computed, because a cache held them. */
  readonly cachedTokens: number;
  /** Tokens of all choices that were returned. */
  readonly outputTokens: number;
  /** Milliseconds spent in each state, in order. */
  readonly timingMs: Readonly<Partial<Record<RequestState, number>>>;
}

/** How a request ended. `stage` is the state that it ended in. */
export type RequestEnd =
  | { readonly kind: "completed"; readonly summary: RequestSummary }
  | {
      readonly kind: "failed";
      readonly summary: RequestSummary | null;
      readonly stage: RequestState;
      readonly error: ServingError;
    }
  | { readonly kind: "cancelled"; readonly summary: RequestSummary; readonly stage: RequestState };

/** Where a request's answer goes. Called synchronously, and not after `ended`. */
export interface RequestSink {
  /** Called once, right before the first output. A sink that does not need it leaves it out. */
  began?(prompt: PromptReport): void;
  /** All that is due, at most one delta a choice. The first call comes with the first token. */
  output(deltas: readonly OutputDelta[]): void;
  /** Called exactly once for every request, perhaps before `submit` has returned. */
  ended(end: RequestEnd): void;
}

/** A request under way. */
export interface RequestHandle {
  /**
   * Ends the request wherever it is; harmless after the end. Without an error its client has left, or its stream was cut; with one
   * its client is told of that: another request of the same body has failed.
   */
  cancel(because?: ServingError): void;
}
