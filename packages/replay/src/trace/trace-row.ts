/** One request of a trace. */
export interface TraceRow {
  /** Line of the file, from 1. */
  readonly line: number;
  /** When it arrives, ms from the trace's own zero; null for a turn that only waits for the one before. */
  readonly stampMs: number | null;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /**
   * One id for each run of `traceBlockSize` prompt tokens, a partial last one included. An id stands for its run and all before
   * it: equal ids are equal prefixes. Null if the trace tells nothing of contents: then no two prompts share anything.
   */
  readonly hashIds: Float64Array | null;
  /** Rows of one session follow each other. */
  readonly sessionId: string | null;
  /** Time between the end of the session's turn before and this one, ms. */
  readonly delayMs: number | null;
}
