/**
 * Draws a token from raw logits in our own code. Used where the native sampler would hide what was asked
 * for: raw log-probabilities of a sampled request, `min_tokens`, a bias on an end-of-generation token, a grammar, several choices.
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

/** Set apart the random numbers of draws and of choices from those of tokens. */
const drawSalt = 0x5bd1;
const choiceSalt = 0x6c078965;
/** Draws before every candidate is asked about. */
const quickAttempts = 16;

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

/** The seed of one choice of a request: the first has the request's own. */
export function choiceSeed(requestSeed: number, choice: number): number {
  return choice === 0 ? requestSeed : tokenSeed(requestSeed, choiceSalt + choice);
}

/** What a token must be like. */
export interface DrawRules {
  /** A token that is chosen only if no other one can be. */
  readonly isBanned: (token: number) => boolean;
  /** Whether the grammar goes on with a token; absent without a grammar. */
  readonly accepts?: ((token: number) => boolean) | undefined;
}

/**
 * Chooses by bias, penalties, top-k, top-p, min-p, temperature and a draw with `seed`, in this order. `punished` are the tokens that
 * penalties count. A grammar chooses among what the cuts leave, in proportion; if it accepts none of it, the likeliest token that
 * it accepts is taken.
 */
export function drawToken(
  logits: ReadonlyMap<number, number>,
  options: DrawOptions,
  punished: readonly number[],
  rules: DrawRules,
  seed: number,
): number {
  const { isBanned, accepts } = rules;
  const candidates = Array.from(logits, ([token, logit]) => ({ token, logit }));
  addBias(candidates, options.logitBias);
  punish(candidates, options, punished);
  candidates.sort((a, b) => b.logit - a.logit || a.token - b.token);
  const isFree = ({ token }: Candidate): boolean => !isBanned(token);
  const isFit = ({ token }: Candidate): boolean => accepts?.(token) !== false;
  const drawn =
    options.temperature > 0 ? draw(candidates.filter(isFree), options, isFit, seed) : undefined;
  const chosen =
    drawn ??
    candidates.find((candidate) => isFree(candidate) && isFit(candidate)) ??
    candidates.find(isFit);
  if (chosen === undefined) throw new RangeError("there are no logits to draw from");
  return chosen.token;
}

/** A draw among what top-k, top-p and min-p leave; undefined if nothing of it is fit. */
function draw(
  candidates: readonly Candidate[],
  options: DrawOptions,
  isFit: (candidate: Candidate) => boolean,
  seed: number,
): Candidate | undefined {
  const { temperature, topK, topP, minP } = options;
  const kept = topK > 0 ? candidates.slice(0, topK) : candidates;
  let left = cutByProbability(kept, topP, minP);
  // To draw again without what was unfit is to draw among what is fit, and seldom asks about all.
  for (let attempt = 0; attempt < quickAttempts; attempt++) {
    const drawn = pick(left, temperature, tokenSeed(seed, drawSalt + attempt) / 2 ** 32);
    if (drawn === undefined || isFit(drawn)) return drawn;
    left = left.filter((candidate) => candidate !== drawn);
  }
  const random = tokenSeed(seed, drawSalt + quickAttempts) / 2 ** 32;
  return pick(left.filter(isFit), temperature, random);
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
function cutByProbability(
  candidates: readonly Candidate[],
  topP: number,
  minP: number,
): readonly Candidate[] {
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

function pick(
  candidates: readonly Candidate[],
  temperature: number,
  random: number,
): Candidate | undefined {
  const weights = weightsOf(candidates, temperature);
  let left = random * weights.reduce((sum, weight) => sum + weight, 0);
  for (const [index, candidate] of candidates.entries()) {
    left -= weights[index] ?? 0;
    if (left < 0) return candidate;
  }
  return candidates.at(-1);
}

/** Unnormalized probabilities; the candidates are sorted, so the first has weight 1. */
function weightsOf(candidates: readonly Candidate[], temperature: number): number[] {
  const max = candidates[0]?.logit ?? 0;
  return candidates.map((candidate) => Math.exp((candidate.logit - max) / temperature));
}
