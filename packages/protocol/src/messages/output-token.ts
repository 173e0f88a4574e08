import { malformed } from "../message-type.ts";

/** A token and the natural logarithm of its probability. */
export type TokenLogprob = readonly [tokenId: number, logprob: number];

/** Log-probabilities at one output position: the chosen token's, then the most likely ones, best first. */
export interface TokenLogprobs {
  readonly chosen: number;
  readonly top: readonly TokenLogprob[];
}

/** One output token, with its log-probabilities if the request asked for them. */
export interface OutputToken {
  readonly id: number;
  readonly logprobs: TokenLogprobs | null;
}

type WireLogprobs = readonly [chosen: number, top: readonly TokenLogprob[]];

/** `[id, logprobs | null]` each; logprobs are `[chosen, [[id, logprob], …]]`. */
export function writeOutputTokens(tokens: readonly OutputToken[]): readonly unknown[] {
  return tokens.map((token) => [token.id, writeLogprobs(token.logprobs)]);
}

/** Reads what `writeOutputTokens` wrote. Throws `malformed_message`. */
export function readOutputTokens(wire: readonly unknown[]): readonly OutputToken[] {
  return wire.map((entry) => {
    if (!Array.isArray(entry) || typeof entry[0] !== "number") {
      throw malformed("output-token", "id");
    }
    return { id: entry[0], logprobs: readLogprobs(entry[1]) };
  });
}

/** The wire form of one position's log-probabilities. */
export function writeLogprobs(logprobs: TokenLogprobs | null): WireLogprobs | null {
  return logprobs === null ? null : [logprobs.chosen, logprobs.top];
}

/** Reads one position's log-probabilities. Throws `malformed_message`. */
export function readLogprobs(wire: unknown): TokenLogprobs | null {
  if (wire === null || wire === undefined) return null;
  if (!Array.isArray(wire) || typeof wire[0] !== "number" || !Array.isArray(wire[1])) {
    throw malformed("output-token", "logprobs");
  }
  return { chosen: wire[0], top: wire[1] as readonly TokenLogprob[] };
}
