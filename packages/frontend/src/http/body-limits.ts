/** Bounds of what one body may ask for. */
export interface BodyLimits {
  /** Most stop texts of a request. */
  readonly maxStopTexts: number;
  /** Most prompts of one body. */
  readonly maxPrompts: number;
}

/** As OpenAI has it, and a batch that no client notices the end of. */
export const defaultBodyLimits: BodyLimits = { maxStopTexts: 4, maxPrompts: 64 };
