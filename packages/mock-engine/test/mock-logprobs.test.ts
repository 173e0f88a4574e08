import { describe, expect, it } from "vitest";
import { mockCandidates, mockLogprobOf, mockLogprobs } from "../src/mock-logprobs.ts";

const query = {
  promptHash: 0xdeadbeef,
  choice: 0,
  position: 3,
  token: 42,
  topCount: 5,
  vocabularySize: 1000,
};

describe("mockLogprobs", () => {
  it("lists the selected token first and the others by falling probability", () => {
    const { selected, top } = mockLogprobs(query);

    expect(top[0]).toEqual(selected);
    expect(selected.token).toBe(42);
    expect(top).toHaveLength(5);
    expect(top.map((entry) => entry.logprob)).toEqual(
      top.map((entry) => entry.logprob).sort((a, b) => b - a),
    );
  });

  it("lists different tokens whose probabilities do not exceed 1 together", () => {
    for (let position = 0; position < 200; position++) {
      const { top } = mockLogprobs({ ...query, position, topCount: 20 });
      const sum = top.reduce((total, entry) => total + Math.exp(entry.logprob), 0);
      expect(new Set(top.map((entry) => entry.token)).size).toBe(20);
      expect(sum).toBeLessThanOrEqual(1);
    }
  });

  it("depends on prompt, choice, position and token, and on nothing else", () => {
    const of = (change: Partial<typeof query>) =>
      mockLogprobs({ ...query, ...change }).selected.logprob;
    expect(of({})).toBe(of({ topCount: 1 }));
    for (const change of [{ promptHash: 1 }, { choice: 1 }, { position: 4 }, { token: 43 }]) {
      expect(of(change)).not.toBe(of({}));
    }
  });

  it("lists the whole vocabulary at most, and nothing if nothing is asked for", () => {
    const small = { ...query, token: 2, vocabularySize: 4, topCount: 20 };
    expect(
      mockLogprobs(small)
        .top.map((entry) => entry.token)
        .sort(),
    ).toEqual([0, 1, 2, 3]);
    expect(mockLogprobs({ ...query, topCount: 0 }).top).toEqual([]);
  });
});

describe("mockLogprobOf", () => {
  it("agrees with the list, and gives less to what is not on it", () => {
    const candidates = mockCandidates(query);
    for (const { token, logprob } of candidates) expect(mockLogprobOf(query, token)).toBe(logprob);
    const listed = candidates.map(({ token }) => token);
    const others = Array.from({ length: 1000 }, (_, token) => token).filter(
      (token) => !listed.includes(token),
    );
    const least = Math.min(...candidates.map(({ logprob }) => logprob));
    for (const token of others) expect(mockLogprobOf(query, token)).toBeLessThan(least);
    const total = [...listed, ...others].reduce(
      (sum, token) => sum + Math.exp(mockLogprobOf(query, token)),
      0,
    );
    expect(total).toBeLessThanOrEqual(1);
  });
});
