import { describe, expect, it } from "vitest";
import { ChildRun } from "../../../src/engines/llama/child-run.ts";
import { Sampler } from "../../../src/engines/llama/sampling.ts";

function childRun(prompt: number[], maxTokens = 5, contextSize = 100, kept = 0): ChildRun {
  const sampling = {
    temperature: 0,
    topK: 0,
    topP: 1,
    minP: 0,
    repetitionPenalty: 1,
    frequencyPenalty: 0,
    presencePenalty: 0,
    logitBias: [],
    seed: 0,
    minTokens: 0,
    ignoreEos: false,
    stopTokenIds: [44],
    logprobs: null,
  };
  return new ChildRun(
    {
      kind: "run",
      run: 1,
      slot: 0,
      tokens: Uint32Array.from(prompt),
      promptTokens: prompt.length,
      kept,
      sampling,
      maxTokens,
      saveTo: null,
    },
    new Sampler(sampling, (token) => token === 2, undefined),
    contextSize,
  );
}

describe("ChildRun", () => {
  it("asks for a next token with the last token only", () => {
    const run = childRun([5, 6, 7]);
    expect(run.items(2)).toEqual([5, 6]);
    expect(run.advance(2, undefined)).toBeUndefined();
    expect(run.waiting).toBe(1);
    expect(run.items(1)).toEqual([[7, { generateNext: expect.objectContaining({ token: true }) }]]);
  });

  it("feeds its own output", () => {
    const run = childRun([5]);
    expect(run.advance(1, { token: 30 })).toMatchObject({ token: 30, finish: null });
    expect(run.items(1)).toEqual([[30, expect.anything()]]);
    expect(run.held).toBe(1);
  });

  it("ends at a stop token, at its limit, or before the context is full", () => {
    expect(childRun([5]).advance(1, { token: 2 })?.finish).toBe("stop");
    expect(childRun([5]).advance(1, { token: 44 })?.finish).toBe("stop");
    expect(childRun([5], 1).advance(1, { token: 9 })?.finish).toBe("length");
    expect(childRun([5, 6], 5, 3).advance(2, { token: 9 })?.finish).toBe("length");
    expect(childRun([5, 6], 5, 4).advance(2, { token: 9 })?.finish).toBeNull();
  });

  it("ends chunks at multiples", () => {
    const run = childRun(Array(30).fill(1), 5, 100, 3);
    expect(run.nextChunk(8)).toBe(5);
    run.advance(5, undefined);
    expect(run.nextChunk(8)).toBe(8);
    run.advance(16, undefined);
    expect(run.nextChunk(8)).toBe(6);
  });

  it("does not go on without an answer", () => {
    expect(() => childRun([5]).advance(1, undefined)).toThrow("no next token");
  });
});
