/** What the child asks of the library for one next token, and what it makes of the answer. */

import type { TokenLogprob, TokenLogprobs } from "@baton/protocol";
import type { GenerateNext, NextToken, TokenBias } from "./native-types.ts";
import { type DrawOptions, drawToken, tokenSeed } from "./token-draw.ts";

/** The options of one run, every one set: an option that is left out means something else natively. */
export interface Sampling extends DrawOptions {
  readonly seed: number;
  readonly minTokens: number;
  readonly ignoreEos: boolean;
  readonly stopTokenIds: readonly number[];
  /** Alternatives to report per token; null reports no log-probabilities. */
  readonly logprobs: number | null;
}

/** What has been generated so far, as far as sampling depends on it. */
export interface OutputSoFar {
  readonly promptTokens: readonly number[];
  readonly outputTokens: readonly number[];
}

export interface SampledToken {
  readonly token: number;
  readonly logprobs: TokenLogprobs | null;
}

/** Candidates looked at to find one that does not end a greedy generation too early. */
const endAlternatives = 32;

/** Chooses tokens for one run. */
export class Sampler {
  readonly #sampling: Sampling;
  readonly #isEog: (token: number) => boolean;
  readonly #tokenBias: TokenBias | undefined;
  readonly #isPlainGreedy: boolean;
  readonly #biasesEog: boolean;

  constructor(
    sampling: Sampling,
    isEog: (token: number) => boolean,
    tokenBias: TokenBias | undefined,
  ) {
    this.#sampling = sampling;
    this.#isEog = isEog;
    this.#tokenBias = tokenBias;
    this.#biasesEog = sampling.logitBias.some(([token]) => isEog(token));
    this.#isPlainGreedy =
      sampling.temperature <= 0 && sampling.logitBias.length === 0 && !this.#hasPenalties();
  }

  /** Whether a token ends the generation. */
  isStop(token: number): boolean {
    if (this.#sampling.stopTokenIds.includes(token)) return true;
    return !this.#sampling.ignoreEos && this.#isEog(token);
  }

  /** The request for the token after what is there. */
  request(soFar: OutputSoFar): GenerateNext {
    const { logprobs } = this.#sampling;
    if (this.#drawsHere(soFar)) return { token: true, logits: true, options: greedy };
    const needsOthers = this.#mustGoOn(soFar);
    const alternatives = endAlternatives + this.#sampling.stopTokenIds.length;
    const includeTop = Math.max(logprobs ?? 0, needsOthers ? alternatives : 0, 1);
    return {
      token: true,
      ...(logprobs !== null || needsOthers
        ? {
            logits: { filter: { tokens: [], includeTop, includeSelected: true } },
            totalLogitWeight: true,
          }
        : {}),
      options: this.#nativeOptions(soFar),
    };
  }

  /** The token that the answer to `request(soFar)` means. */
  choose(next: NextToken, soFar: OutputSoFar): SampledToken {
    const token = this.#chooseToken(next, soFar);
    const { logprobs } = this.#sampling;
    if (logprobs === null) return { token, logprobs: null };
    return { token, logprobs: readLogprobs(next, token, logprobs) };
  }

  #chooseToken(next: NextToken, soFar: OutputSoFar): number {
    const mustGoOn = this.#mustGoOn(soFar);
    if (this.#drawsHere(soFar)) {
      const seed = tokenSeed(this.#sampling.seed, soFar.outputTokens.length);
      const isBanned = (token: number): boolean => mustGoOn && this.isStop(token);
      return drawToken(next.logits ?? none, this.#sampling, this.#punished(soFar), isBanned, seed);
    }
    const { token } = next;
    if (typeof token !== "number") throw new Error("the library chose no token");
    if (!mustGoOn || !this.isStop(token)) return token;
    for (const other of (next.logits ?? none).keys()) {
      if (!this.isStop(other)) return other;
    }
    return token;
  }

  #mustGoOn(soFar: OutputSoFar): boolean {
    return soFar.outputTokens.length < this.#sampling.minTokens;
  }

  /** Log-probabilities that the library gives are raw, and others than its choice there, only if plain. */
  #drawsHere(soFar: OutputSoFar): boolean {
    if (this.#biasesEog) return true;
    if (this.#isPlainGreedy) return false;
    return this.#sampling.logprobs !== null || this.#mustGoOn(soFar);
  }

  #hasPenalties(): boolean {
    const { repetitionPenalty, frequencyPenalty, presencePenalty } = this.#sampling;
    return repetitionPenalty !== 1 || frequencyPenalty !== 0 || presencePenalty !== 0;
  }

  /** Penalties count the output; a repetition penalty counts the prompt too. */
  #punished(soFar: OutputSoFar): readonly number[] {
    if (!this.#hasPenalties()) return [];
    if (this.#sampling.repetitionPenalty === 1) return soFar.outputTokens;
    return [...soFar.promptTokens, ...soFar.outputTokens];
  }

  #nativeOptions(soFar: OutputSoFar): NonNullable<GenerateNext["options"]> {
    const { temperature, topK, topP, minP, seed } = this.#sampling;
    const punishTokens = this.#punished(soFar);
    return {
      temperature,
      topK,
      topP,
      minP,
      seed: tokenSeed(seed, soFar.outputTokens.length),
      ...(this.#tokenBias === undefined ? {} : { tokenBias: this.#tokenBias }),
      ...(punishTokens.length === 0
        ? {}
        : {
            repeatPenalty: {
              punishTokens: [...punishTokens],
              maxPunishTokens: punishTokens.length,
              penalty: this.#sampling.repetitionPenalty,
              frequencyPenalty: this.#sampling.frequencyPenalty,
              presencePenalty: this.#sampling.presencePenalty,
            },
          }),
    };
  }
}

const none: ReadonlyMap<number, number> = new Map();
const greedy = { temperature: 0, topK: 0, topP: 1, minP: 0 };

/** Log-probabilities from logits that are sorted best first and either all there or with their total weight. */
function readLogprobs(next: NextToken, token: number, count: number): TokenLogprobs {
  const logits = next.logits ?? none;
  let max = Number.NEGATIVE_INFINITY;
  for (const logit of logits.values()) max = Math.max(max, logit);
  let weight = next.totalLogitWeight ?? 0;
  if (next.totalLogitWeight === undefined) {
    for (const logit of logits.values()) weight += Math.exp(logit - max);
  }
  const shift = max + Math.log(weight);
  const top: TokenLogprob[] = [];
  for (const [candidate, logit] of logits) {
    if (top.length === count) break;
    top.push([candidate, logit - shift]);
  }
  return { chosen: (logits.get(token) ?? Number.NEGATIVE_INFINITY) - shift, top };
}
