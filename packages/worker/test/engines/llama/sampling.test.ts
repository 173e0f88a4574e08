import { describe, expect, it } from "vitest";
import type { GrammarState } from "../../../src/engines/llama/grammar-state.ts";
import type { TokenBias } from "../../../src/engines/llama/native-types.ts";
import {
  readLogprobs,
  requestLogprobs,
  Sampler,
  type Sampling,
} from "../../../src/engines/llama/sampling.ts";

const neutral: Sampling = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logitBias: [],
  seed: 5,
  minTokens: 0,
  ignoreEos: false,
  stopTokenIds: [],
  logprobs: null,
  grammar: null,
};
const eog = 2;
const start = { promptTokens: [7, 8], outputTokens: [] as number[] };

function sampler(sampling: Partial<Sampling>, bias?: TokenBias, grammar?: GrammarState): Sampler {
  return new Sampler({ ...neutral, ...sampling }, (token) => token === eog, bias, grammar);
}

/** A grammar of just these texts of tokens, each of which may be followed by the end. */
class TextsGrammar implements GrammarState {
  readonly accepted: number[] = [];
  readonly #texts: readonly (readonly number[])[];

  constructor(...texts: readonly (readonly number[])[]) {
    this.#texts = texts;
  }

  accepts(token: number): boolean {
    const soFar = [...this.accepted, token];
    return this.#texts.some((text) => {
      const whole = [...text, eog];
      return soFar.every((accepted, index) => accepted === whole[index]);
    });
  }

  accept(token: number): void {
    if (!this.accepts(token)) throw new Error(`${token} was not to be accepted`);
    this.accepted.push(token);
  }
}

describe("Sampler", () => {
  it("spells out every option, since those left out mean something else natively", () => {
    const { options } = sampler({ temperature: 0.7, topK: 5, topP: 0.9, minP: 0.1 }).request(start);
    expect(options).toMatchObject({ temperature: 0.7, topK: 5, topP: 0.9, minP: 0.1 });
    expect(sampler({}).request(start).options).toMatchObject({ topK: 0, topP: 1, minP: 0 });
  });

  it("gives each token a seed of its own, the same in every run", () => {
    const seedAt = (count: number) =>
      sampler({ temperature: 1 }).request({ ...start, outputTokens: Array(count).fill(9) }).options
        .seed;
    expect(seedAt(0)).toBe(seedAt(0));
    expect(new Set([seedAt(0), seedAt(1), seedAt(2)]).size).toBe(3);
  });

  it("lets penalties count the output, and a repetition penalty the prompt too", () => {
    const soFar = { promptTokens: [7, 8], outputTokens: [9] };
    const presence = sampler({ presencePenalty: 1 }).request(soFar).options.repeatPenalty;
    expect(presence).toEqual({
      punishTokens: [9],
      maxPunishTokens: 1,
      penalty: 1,
      frequencyPenalty: 0,
      presencePenalty: 1,
    });
    const repetition = sampler({ repetitionPenalty: 1.2 }).request(soFar).options.repeatPenalty;
    expect(repetition?.punishTokens).toEqual([7, 8, 9]);
    expect(sampler({}).request(soFar).options.repeatPenalty).toBeUndefined();
  });

  it("asks for logits only where somebody wants them", () => {
    expect(sampler({}).request(start)).not.toHaveProperty("logits");
    expect(sampler({ logprobs: 3 }).request(start)).toMatchObject({
      logits: { filter: { includeTop: 3, includeSelected: true } },
      totalLogitWeight: true,
    });
    expect(sampler({ logprobs: 0 }).request(start)).toMatchObject({
      logits: { filter: { includeTop: 1 } },
    });
  });

  it("turns logits into log-probabilities", () => {
    const next = {
      token: 4,
      logits: new Map([
        [4, 2],
        [5, 1],
        [6, 0],
      ]),
      totalLogitWeight: 1 + Math.exp(-1) + Math.exp(-2),
    };
    const { token, logprobs } = sampler({ logprobs: 2 }).choose(next, start);
    const total = Math.log(Math.exp(2) + Math.exp(1) + 1);
    expect(token).toBe(4);
    expect(logprobs?.chosen).toBeCloseTo(2 - total, 10);
    expect(logprobs?.top.map(([id]) => id)).toEqual([4, 5]);
    expect(logprobs?.top[1]?.[1]).toBeCloseTo(1 - total, 10);
  });

  it("draws sampled tokens here when raw log-probabilities are wanted", () => {
    const drawing = sampler({ logprobs: 2, temperature: 1, logitBias: [[6, 50]] });
    expect(drawing.request(start)).toMatchObject({ logits: true, options: { temperature: 0 } });
    const logits = new Map([
      [4, 2],
      [5, 1],
      [6, 0],
    ]);
    const { token, logprobs } = drawing.choose({ token: 4, logits }, start);
    expect(token).toBe(6);
    expect(logprobs?.chosen).toBeCloseTo(-Math.log(Math.exp(2) + Math.exp(1) + 1), 10);
    expect(logprobs?.top[0]?.[0]).toBe(4);
  });

  it("passes the native bias on, but draws here where an end-of-generation token is biased", () => {
    const bias: TokenBias = { set: () => bias };
    const native = sampler({ logitBias: [[6, 1]] }, bias).request(start);
    expect(native.options.tokenBias).toBe(bias);
    expect(native).not.toHaveProperty("logits");
    expect(sampler({ logitBias: [[eog, -100]] }, bias).request(start).logits).toBe(true);
  });

  it("takes the best other token while min_tokens forbid the end", () => {
    const early = sampler({ minTokens: 2, stopTokenIds: [5] });
    expect(early.request(start)).toMatchObject({ logits: { filter: { includeTop: 33 } } });
    const logits = new Map([
      [eog, 9],
      [5, 8],
      [6, 7],
    ]);
    expect(early.choose({ token: eog, logits, totalLogitWeight: 1 }, start).token).toBe(6);
    const later = { ...start, outputTokens: [1, 1] };
    expect(early.request(later)).not.toHaveProperty("logits");
    expect(early.choose({ token: eog }, later).token).toBe(eog);
  });

  it("stops at end-of-generation and stop tokens, unless told to ignore the former", () => {
    expect(sampler({}).isStop(eog)).toBe(true);
    expect(sampler({ ignoreEos: true }).isStop(eog)).toBe(false);
    expect(sampler({ stopTokenIds: [40] }).isStop(40)).toBe(true);
    expect(sampler({}).isStop(40)).toBe(false);
  });

  const logits = new Map([
    [4, 5],
    [5, 4],
    [eog, 3],
    [6, 2],
  ]);

  it("keeps to a grammar, greedy or not, and follows it token by token", () => {
    for (const temperature of [0, 1]) {
      const grammar = new TextsGrammar([6, 5], [6, 6]);
      const keeping = sampler({ temperature, grammar: "g" }, undefined, grammar);
      expect(keeping.request(start).logits).toBe(true);
      expect(keeping.choose({ token: 4, logits }, start).token).toBe(6);
      const second = keeping.choose({ token: 4, logits }, { ...start, outputTokens: [6] }).token;
      expect([5, 6]).toContain(second);
      const third = { ...start, outputTokens: [6, second] };
      expect(keeping.choose({ token: 4, logits }, third).token).toBe(eog);
      expect(grammar.accepted).toEqual([6, second]);
    }
  });

  it("reports the model's own log-probabilities of a token that a grammar forced", () => {
    const keeping = sampler({ grammar: "g", logprobs: 1 }, undefined, new TextsGrammar([6]));
    const { token, logprobs } = keeping.choose({ token: 4, logits }, start);
    const total = Math.log([5, 4, 3, 2].reduce((sum, logit) => sum + Math.exp(logit), 0));
    expect(token).toBe(6);
    expect(logprobs?.chosen).toBeCloseTo(2 - total, 10);
    expect(logprobs?.top).toEqual([[4, expect.closeTo(5 - total, 10)]]);
  });

  it("ends where the grammar ends, and not before where the end is to be ignored", () => {
    const texts = new TextsGrammar([], [6]);
    const ending = sampler({ grammar: "g", ignoreEos: true }, undefined, texts);
    expect(ending.choose({ token: eog, logits }, start).token).toBe(6);
    expect(ending.choose({ token: eog, logits }, { ...start, outputTokens: [6] }).token).toBe(eog);
    expect(ending.isStop(eog)).toBe(true);
    const willing = sampler({ grammar: "g" }, undefined, new TextsGrammar([], [6]));
    expect(willing.choose({ token: 4, logits }, start).token).toBe(eog);
    const early = sampler({ grammar: "g", minTokens: 1 }, undefined, new TextsGrammar([], [6]));
    expect(early.choose({ token: 4, logits }, start).token).toBe(6);
  });

  it("goes on with a grammar from tokens that were chosen elsewhere, if it can", () => {
    const resumed = sampler({ grammar: "g" }, undefined, new TextsGrammar([6, 5]));
    resumed.resume([6]);
    expect(resumed.choose({ token: 4, logits }, { ...start, outputTokens: [6] }).token).toBe(5);
    const foreign = sampler({ grammar: "g" }, undefined, new TextsGrammar([6, 5]));
    expect(() => foreign.resume([5])).toThrow("does not go on with the token 5");
    sampler({}).resume([5]);
  });

  it("draws the first token of each choice from one answer, with the seed of the choice", () => {
    const drawing = sampler({ temperature: 5, logprobs: 1 });
    expect(drawing.requestFirst().logits).toBe(true);
    const seeds = Array.from({ length: 60 }, (_, seed) => seed);
    const tokens = seeds.map(
      (seed) => drawing.chooseFirst({ token: 4, logits }, start, seed).token,
    );
    expect(new Set(tokens)).toEqual(new Set([4, 5, eog, 6]));
    expect(drawing.chooseFirst({ token: 4, logits }, start, 7).token).toBe(tokens[7]);
    const greedy = sampler({}).chooseFirst({ token: 4, logits }, start, 7);
    expect(greedy).toEqual({ token: 4, logprobs: null });
  });

  it("does not let the first token of one choice bind the grammar of another", () => {
    const grammar = new TextsGrammar([6], [5]);
    const drawing = sampler({ grammar: "g", temperature: 9 }, undefined, grammar);
    const tokens = Array.from(
      { length: 60 },
      (_, seed) => drawing.chooseFirst({ token: 4, logits }, start, seed).token,
    );
    expect(new Set(tokens)).toEqual(new Set([5, 6]));
    expect(grammar.accepted).toEqual([]);
  });

  it("asks for a known token's log-probability, and reads it beside its alternatives", () => {
    expect(requestLogprobs(6, 0)).toMatchObject({
      logits: { filter: { tokens: [6], includeTop: 1 } },
      totalLogitWeight: true,
      options: { temperature: 0 },
    });
    const next = {
      logits: new Map([
        [4, 5],
        [5, 4],
        [6, 2],
      ]),
      totalLogitWeight: 2,
    };
    const told = readLogprobs(next, 6, 1);
    expect(told.chosen).toBeCloseTo(2 - 5 - Math.log(2), 10);
    expect(told.top).toEqual([[4, expect.closeTo(-Math.log(2), 10)]]);
    expect(readLogprobs(next, 6, 0).top).toEqual([]);
  });

  it("refuses an answer without a token", () => {
    expect(() => sampler({}).choose({}, start)).toThrow("chose no token");
    expect(() => sampler({}).choose({ token: null }, start)).toThrow("chose no token");
  });
});
