/** What the child asks of the library for one next token, and what it makes of the answer. */

import type { TokenLogprob, TokenLogprobs } from "@baton/protocol";
import type { GrammarState } from "./grammar-state.ts";
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
  /** The grammar (GBNF) that the output keeps to; null for free text. */
  readonly grammar: string | null;
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
  readonly #grammar: GrammarState | undefined;

  /** `grammar` is the state of an output that has not begun. */
  constructor(
    sampling: Sampling,
    isEog: (token: number) => boolean,
    tokenBias: TokenBias | undefined,
    grammar: GrammarState | undefined,
  ) {
    this.#sampling = sampling;
    this.#isEog = isEog;
    this.#tokenBias = tokenBias;
    this.#grammar = grammar;
    this.#biasesEog = sampling.logitBias.some(([token]) => isEog(token));
    this.#isPlainGreedy =
      sampling.temperature <= 0 && sampling.logitBias.length === 0 && !this.#hasPenalties();
  }

  /** The output begins with tokens that were chosen elsewhere. Throws if the grammar does not. */
  resume(outputTokens: readonly number[]): void {
    for (const token of outputTokens) {
      if (this.#grammar?.accepts(token) === false) {
        throw new Error(`the grammar does not go on with the token ${token}`);
      }
      this.#grammar?.accept(token);
    }
  }

  /** Whether a token ends the generation. What ends a grammar ends the text, whatever the request ignores. */
  isStop(token: number): boolean {
    if (this.#sampling.stopTokenIds.includes(token)) return true;
    return this.#isEog(token) && (!this.#sampling.ignoreEos || this.#grammar !== undefined);
  }

  /** The request for all that `chooseFirst` needs. */
  requestFirst(): GenerateNext {
    return rawLogits;
  }

  /** The first token of one choice. Any number of choices can be drawn from one answer to `requestFirst`. */
  chooseFirst(next: NextToken, soFar: OutputSoFar, seed: number): SampledToken {
    return this.#report(next, this.#draw(next, soFar, seed));
  }

  /** The request for the token after what is there. */
  request(soFar: OutputSoFar): GenerateNext {
    const { logprobs } = this.#sampling;
    if (this.#drawsHere(soFar)) return rawLogits;
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
    if (!this.isStop(token)) this.#grammar?.accept(token);
    return this.#report(next, token);
  }

  #report(next: NextToken, token: number): SampledToken {
    const { logprobs } = this.#sampling;
    if (logprobs === null) return { token, logprobs: null };
    return { token, logprobs: readLogprobs(next, token, logprobs) };
  }

  #draw(next: NextToken, soFar: OutputSoFar, requestSeed: number): number {
    const mustGoOn = this.#mustGoOn(soFar);
    // A grammar that could go on does, where the end is to be ignored.
    const grammar = this.#grammar;
    const ignoresEnd = this.#sampling.ignoreEos && grammar !== undefined;
    const rules = {
      isBanned: (token: number) =>
        (mustGoOn && this.isStop(token)) || (ignoresEnd && this.#isEog(token)),
      accepts: grammar === undefined ? undefined : (token: number) => grammar.accepts(token),
    };
    const seed = tokenSeed(requestSeed, soFar.outputTokens.length);
    return drawToken(next.logits ?? none, this.#sampling, this.#punished(soFar), rules, seed);
  }

  #chooseToken(next: NextToken, soFar: OutputSoFar): number {
    if (this.#drawsHere(soFar)) return this.#draw(next, soFar, this.#sampling.seed);
    const { token } = next;
    if (typeof token !== "number") throw new Error("the library chose no token");
    if (!this.#mustGoOn(soFar) || !this.isStop(token)) return token;
    for (const other of (next.logits ?? none).keys()) {
      if (!this.isStop(other)) return other;
    }
    return token;
  }

  #mustGoOn(soFar: OutputSoFar): boolean {
    return soFar.outputTokens.length < this.#sampling.minTokens;
  }

  /**
   * Log-probabilities that the library gives are raw, and others than its choice there, only if plain; and it asks a
   * grammar only where it gives no logits.
   */
  #drawsHere(soFar: OutputSoFar): boolean {
    if (this.#biasesEog || this.#grammar !== undefined) return true;
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
const rawLogits: GenerateNext = { token: true, logits: true, options: greedy };

/** The request for the log-probabilities of a token that is known, and of `count` alternatives. */
export function requestLogprobs(token: number, count: number): GenerateNext {
  return {
    logits: { filter: { tokens: [token], includeTop: Math.max(1, count), includeSelected: false } },
    totalLogitWeight: true,
    options: greedy,
  };
}

/** Log-probabilities from logits that are sorted best first and either all there or with their total weight. */
export function readLogprobs(next: NextToken, token: number, count: number): TokenLogprobs {
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
