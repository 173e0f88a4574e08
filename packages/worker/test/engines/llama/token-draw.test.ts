import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  choiceSeed,
  type DrawOptions,
  drawToken,
  tokenSeed,
} from "../../../src/engines/llama/token-draw.ts";

const neutral: DrawOptions = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logitBias: [],
};
const logits = new Map([
  [10, 3],
  [11, 2],
  [12, 1],
  [13, -4],
]);
const none = { isBanned: () => false };

/** How often each token is drawn over many seeds. */
function frequencies(options: Partial<DrawOptions>, punished: number[] = []): Map<number, number> {
  const counts = new Map<number, number>();
  for (let seed = 0; seed < 4000; seed++) {
    const token = drawToken(logits, { ...neutral, ...options }, punished, none, tokenSeed(1, seed));
    counts.set(token, (counts.get(token) ?? 0) + 1 / 4000);
  }
  return counts;
}

describe("drawToken", () => {
  it("draws by probability, sharper with less temperature", () => {
    const total = Math.exp(3) + Math.exp(2) + Math.exp(1) + Math.exp(-4);
    expect(frequencies({}).get(10)).toBeCloseTo(Math.exp(3) / total, 1);
    expect(frequencies({}).get(12)).toBeCloseTo(Math.exp(1) / total, 1);
    expect(frequencies({ temperature: 0.25 }).get(10)).toBeGreaterThan(0.95);
  });

  it("takes the maximum at temperature 0, the lower id of equals", () => {
    expect(frequencies({ temperature: 0 })).toEqual(new Map([[10, expect.closeTo(1, 5)]]));
    const equal = new Map([
      [9, 1],
      [4, 1],
    ]);
    expect(drawToken(equal, { ...neutral, temperature: 0 }, [], none, 0)).toBe(4);
  });

  it("keeps the k likeliest, the likeliest of a sum, and those near the best", () => {
    expect([...frequencies({ topK: 2 }).keys()].sort()).toEqual([10, 11]);
    expect([...frequencies({ topP: 0.5 }).keys()]).toEqual([10]);
    expect([...frequencies({ topP: 0.9 }).keys()].sort()).toEqual([10, 11]);
    expect([...frequencies({ minP: 0.2 }).keys()].sort()).toEqual([10, 11]);
    expect([...frequencies({ topP: 0 }).keys()]).toEqual([10]);
  });

  it("adds biases and takes penalties off before the choice", () => {
    const greedy = { ...neutral, temperature: 0 };
    const choose = (options: Partial<DrawOptions>, punished: number[] = []) =>
      drawToken(logits, { ...greedy, ...options }, punished, none, 0);
    expect(choose({ logitBias: [[13, 100]] })).toBe(13);
    expect(choose({ presencePenalty: 1.5 }, [10])).toBe(11);
    expect(choose({ frequencyPenalty: 0.6 }, [10])).toBe(10);
    expect(choose({ frequencyPenalty: 0.6 }, [10, 10])).toBe(11);
    expect(choose({ repetitionPenalty: 2 }, [10])).toBe(11);
    const negative = new Map([
      [1, -1],
      [2, -1.5],
    ]);
    expect(drawToken(negative, { ...greedy, repetitionPenalty: 2 }, [1], none, 0)).toBe(2);
  });

  it("never draws a banned token, unless all are banned", () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        expect(
          drawToken(logits, neutral, [], { isBanned: (token) => token === 10 }, seed),
        ).not.toBe(10);
      }),
    );
    expect(drawToken(logits, { ...neutral, temperature: 0 }, [], { isBanned: () => true }, 0)).toBe(
      10,
    );
  });

  it("draws in proportion among what a grammar accepts, however much it does not", () => {
    const many = new Map(Array.from({ length: 200 }, (_, token) => [token, token < 190 ? 3 : 0]));
    many.set(198, 1);
    const accepts = (token: number) => token >= 197;
    const counts = new Map<number, number>();
    for (let seed = 0; seed < 3000; seed++) {
      const token = drawToken(many, neutral, [], { ...none, accepts }, tokenSeed(2, seed));
      counts.set(token, (counts.get(token) ?? 0) + 1 / 3000);
    }
    expect([...counts.keys()].sort()).toEqual([197, 198, 199]);
    expect(counts.get(198)).toBeCloseTo(Math.E / (Math.E + 2), 1);
    expect(counts.get(197)).toBeCloseTo(1 / (Math.E + 2), 1);
  });

  it("takes the likeliest token that a grammar accepts if the cuts leave none, a banned one last", () => {
    const accepts = (token: number) => token >= 12;
    const cut = { ...neutral, topK: 2 };
    expect(drawToken(logits, cut, [], { ...none, accepts }, 1)).toBe(12);
    const isBanned = (token: number) => token === 12;
    expect(drawToken(logits, cut, [], { isBanned, accepts }, 1)).toBe(13);
    const only = { isBanned, accepts: isBanned };
    for (const temperature of [0, 1]) {
      expect(drawToken(logits, { ...neutral, temperature }, [], only, 1)).toBe(12);
    }
  });

  it("refuses to draw where a grammar accepts nothing", () => {
    const rules = { ...none, accepts: () => false };
    for (const temperature of [0, 1]) {
      expect(() => drawToken(logits, { ...neutral, temperature }, [], rules, 0)).toThrow(
        RangeError,
      );
    }
  });

  it("refuses to draw from nothing", () => {
    expect(() => drawToken(new Map(), neutral, [], none, 0)).toThrow(RangeError);
  });
});

describe("choiceSeed", () => {
  it("gives the first choice the request's own, and the others their own", () => {
    expect(choiceSeed(77, 0)).toBe(77);
    const seeds = new Set<number>();
    for (let choice = 0; choice < 128; choice++) {
      for (let token = 0; token < 40; token++) seeds.add(tokenSeed(choiceSeed(77, choice), token));
    }
    expect(seeds.size).toBe(128 * 40);
  });
});

describe("tokenSeed", () => {
  it("gives other u32 numbers to other requests and other tokens", () => {
    const seeds = new Set<number>();
    for (let request = 0; request < 40; request++) {
      for (let token = 0; token < 40; token++) seeds.add(tokenSeed(request, token));
    }
    expect(seeds.size).toBe(1600);
    for (const seed of seeds) expect(seed).toBe(seed >>> 0);
  });
});
