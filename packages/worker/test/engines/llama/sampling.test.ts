import { describe, expect, it } from "vitest";
import type { TokenBias } from "../../../src/engines/llama/native-types.ts";
import { Sampler, type Sampling } from "../../../src/engines/llama/sampling.ts";

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
};
const eog = 2;
const start = { promptTokens: [7, 8], outputTokens: [] as number[] };

function sampler(sampling: Partial<Sampling>, bias?: TokenBias): Sampler {
  return new Sampler({ ...neutral, ...sampling }, (token) => token === eog, bias);
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

  it("refuses an answer without a token", () => {
    expect(() => sampler({}).choose({}, start)).toThrow("chose no token");
    expect(() => sampler({}).choose({ token: null }, start)).toThrow("chose no token");
  });
});
