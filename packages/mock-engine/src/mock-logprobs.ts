import { hashIntegers, hashToUnit } from "./integer-hash.ts";

/** A token and the natural logarithm of its probability. */
export interface MockLogprob {
  readonly token: number;
  readonly logprob: number;
}

export interface MockLogprobQuery {
  /** The first 32 bits of the prompt's hash. */
  readonly promptHash: number;
  /** Which choice of the request, 0…n-1. */
  readonly choice: number;
  /** Output position of the token. */
  readonly position: number;
  /** The token that was selected. */
  readonly token: number;
  /** How many candidates to list; 0 lists none. */
  readonly topCount: number;
  readonly vocabularySize: number;
}

export interface MockLogprobs {
  readonly selected: MockLogprob;
  /** The likeliest candidates, likeliest first; the selected token is the first. At most as many as the vocabulary has. */
  readonly top: readonly MockLogprob[];
}

/**
 * Made-up log probabilities that depend on nothing but the query, so that they are the same wherever a token is
 * computed. The selected token has a probability in [0.5, 0.9); each further candidate half of what is left.
 */
export function mockLogprobs(query: MockLogprobQuery): MockLogprobs {
  const { promptHash, choice, position, token, vocabularySize } = query;
  const probability = 0.5 + 0.4 * hashToUnit(promptHash, choice, position, token);
  const selected = { token, logprob: Math.log(probability) };
  const top = query.topCount > 0 ? [selected] : [];
  const stride = 1 + (hashIntegers(promptHash, choice, position, token, 1) % 97);
  const listed = new Set([token]);
  let left = 1 - probability;
  let candidate = token;
  while (top.length < Math.min(query.topCount, vocabularySize)) {
    candidate = (candidate + stride) % vocabularySize;
    // A stride that divides the vocabulary comes round: go on beside it.
    while (listed.has(candidate)) candidate = (candidate + 1) % vocabularySize;
    listed.add(candidate);
    left /= 2;
    top.push({ token: candidate, logprob: Math.log(left) });
  }
  return { selected, top };
}

/** Candidates whose probability is told apart; all others share what is left. */
const rankedCandidates = 32;

/** The logarithm of any token's probability where `query.token` is the likeliest, as `mockLogprobs` makes it up. */
export function mockLogprobOf(query: Omit<MockLogprobQuery, "topCount">, token: number): number {
  const { top } = mockLogprobs({ ...query, topCount: rankedCandidates });
  const ranked = top.find((candidate) => candidate.token === token);
  return ranked?.logprob ?? top[top.length - 1]!.logprob - Math.log(query.vocabularySize);
}

/** The likeliest tokens where `query.token` is the likeliest, best first. */
export function mockCandidates(query: Omit<MockLogprobQuery, "topCount">): readonly MockLogprob[] {
  return mockLogprobs({ ...query, topCount: rankedCandidates }).top;
}
