/**
 * Draws a token from raw logits in our own code. Used where the native sampler would hide what was asked
 * for: raw log-probabilities of a sampled request, `min_tokens`, a bias on an end-of-generation token.
 */

/** How the next token is chosen. Neutral: temperature 0, topK 0, topP 1, minP 0, penalties 1, 0, 0. */
export interface DrawOptions {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** Token and what is added to its logit. */
  readonly logitBias: readonly (readonly [token: number, bias: number])[];
}

interface Candidate {
  readonly token: number;
  logit: number;
}

/**
 * The seed of one token: requests that share a seed, and the steps of one request, must not share random
 * numbers. A u32 hash of both.
 */
export function tokenSeed(requestSeed: number, tokenIndex: number): number {
  let mixed = (requestSeed ^ Math.imul(tokenIndex + 1, 0x9e3779b9)) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * Chooses by bias, penalties, top-k, top-p, min-p, temperature and a draw with `seed`, in this order.
 * `punished` are the tokens that penalties count; `isBanned` tokens are never chosen unless all are.
 */
export function drawToken(
  logits: ReadonlyMap<number, number>,
  options: DrawOptions,
  punished: readonly number[],
  isBanned: (token: number) => boolean,
  seed: number,
): number {
  const candidates = allowed(logits, isBanned);
  addBias(candidates, options.logitBias);
  punish(candidates, options, punished);
  candidates.sort((a, b) => b.logit - a.logit || a.token - b.token);
  const best = candidates[0];
  if (best === undefined) throw new RangeError("there are no logits to draw from");
  if (options.temperature <= 0) return best.token;
  const kept = options.topK > 0 ? candidates.slice(0, options.topK) : candidates;
  const likely = cutByProbability(kept, options.topP, options.minP);
  return pick(likely, options.temperature, tokenSeed(seed, 0x5bd1) / 2 ** 32);
}

function allowed(
  logits: ReadonlyMap<number, number>,
  isBanned: (token: number) => boolean,
): Candidate[] {
  const all: Candidate[] = [];
  for (const [token, logit] of logits) {
    if (!isBanned(token)) all.push({ token, logit });
  }
  if (all.length > 0) return all;
  return Array.from(logits, ([token, logit]) => ({ token, logit }));
}

function addBias(candidates: Candidate[], bias: DrawOptions["logitBias"]): void {
  if (bias.length === 0) return;
  const added = new Map(bias);
  for (const candidate of candidates) candidate.logit += added.get(candidate.token) ?? 0;
}

function punish(candidates: Candidate[], options: DrawOptions, punished: readonly number[]): void {
  if (punished.length === 0) return;
  const counts = new Map<number, number>();
  for (const token of punished) counts.set(token, (counts.get(token) ?? 0) + 1);
  const { repetitionPenalty, frequencyPenalty, presencePenalty } = options;
  for (const candidate of candidates) {
    const count = counts.get(candidate.token);
    if (count === undefined) continue;
    const scale = candidate.logit <= 0 ? repetitionPenalty : 1 / repetitionPenalty;
    candidate.logit = candidate.logit * scale - count * frequencyPenalty - presencePenalty;
  }
}

/** The candidates, best first, that top-p and min-p leave; at least one. */
function cutByProbability(candidates: Candidate[], topP: number, minP: number): Candidate[] {
  if (topP >= 1 && minP <= 0) return candidates;
  const weights = weightsOf(candidates, 1);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  let count = 0;
  for (const weight of weights) {
    if (count > 0 && (sum >= topP * total || weight < minP * (weights[0] ?? 0))) break;
    sum += weight;
    count += 1;
  }
  return candidates.slice(0, count);
}

function pick(candidates: readonly Candidate[], temperature: number, random: number): number {
  const weights = weightsOf(candidates, temperature);
  let left = random * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [index, candidate] of candidates.entries()) {
    left -= weights[index] ?? 0;
    if (left < 0) return candidate.token;
  }
  return candidates.at(-1)?.token ?? 0;
}

/** Unnormalized probabilities; the candidates are sorted, so the first has weight 1. */
function weightsOf(candidates: readonly Candidate[], temperature: number): number[] {
  const max = candidates[0]?.logit ?? 0;
  return candidates.map((candidate) => Math.exp((candidate.logit - max) / temperature));
}
