import { describe, expect, it } from "vitest";
import type { RunCommand } from "../../../src/engines/llama/child-protocol.ts";
import { ChildRun } from "../../../src/engines/llama/child-run.ts";
import { Sampler } from "../../../src/engines/llama/sampling.ts";

function childRun(
  prompt: number[],
  command: Partial<RunCommand> = {},
  contextSize = 100,
): ChildRun {
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
    grammar: null,
  };
  return new ChildRun(
    {
      kind: "run",
      run: 1,
      slot: 0,
      tokens: Uint32Array.from(prompt),
      promptTokens: prompt.length,
      kept: 0,
      sampling,
      choiceSeeds: null,
      promptLogprobs: null,
      maxTokens: 5,
      saveTo: null,
      ...command,
    },
    new Sampler(sampling, (token) => token === 2, undefined, undefined),
    contextSize,
  );
}

/** The library's answers where only the last token was asked about. */
const answers = (count: number, token: number) => [
  ...Array<undefined>(count - 1).fill(undefined),
  { next: { token } },
];
const logits = new Map([
  [40, 2],
  [2, 1],
  [44, 0],
]);

describe("ChildRun", () => {
  it("asks for a next token with the last token only", () => {
    const run = childRun([5, 6, 7]);
    expect(run.items(2)).toEqual([5, 6]);
    expect(run.advance(2, [])).toEqual({ outputs: [], promptLogprobs: [], fate: "goes_on" });
    expect(run.waiting).toBe(1);
    expect(run.items(1)).toEqual([[7, { generateNext: expect.objectContaining({ token: true }) }]]);
  });

  it("feeds its own output", () => {
    const run = childRun([5]);
    expect(run.advance(1, answers(1, 30))).toMatchObject({
      outputs: [{ choice: 0, token: 30, finish: null }],
      fate: "goes_on",
    });
    expect(run.items(1)).toEqual([[30, expect.anything()]]);
    expect(run.held).toBe(1);
  });

  it("ends at a stop token, at its limit, or before the context is full", () => {
    const endOf = (run: ChildRun, count: number, token: number) => {
      const { outputs, fate } = run.advance(count, answers(count, token));
      return [outputs[0]?.finish, fate];
    };
    expect(endOf(childRun([5]), 1, 2)).toEqual(["stop", "finished"]);
    expect(endOf(childRun([5]), 1, 44)).toEqual(["stop", "finished"]);
    expect(endOf(childRun([5], { maxTokens: 1 }), 1, 9)).toEqual(["length", "finished"]);
    expect(endOf(childRun([5, 6], {}, 3), 2, 9)).toEqual(["length", "finished"]);
    expect(endOf(childRun([5, 6], {}, 4), 2, 9)).toEqual([null, "goes_on"]);
    expect(endOf(childRun([5, 6], { saveTo: "file" }), 2, 9)).toEqual([null, "saves"]);
    expect(endOf(childRun([5, 6], { saveTo: "file" }), 2, 2)).toEqual(["stop", "finished"]);
  });

  it("draws one first token for each seed and then pauses, saving if any choice goes on", () => {
    const fork = (command: Partial<RunCommand>, seeds: number[]) => {
      const run = childRun([5, 6], { choiceSeeds: seeds, ...command });
      expect(run.items(2)).toEqual([
        5,
        [6, { generateNext: expect.objectContaining({ logits: true }) }],
      ]);
      return run.advance(2, [undefined, { next: { token: 40, logits } }]);
    };
    const { outputs, fate } = fork({}, [1, 2, 3]);
    expect(outputs.map(({ choice, token, finish }) => [choice, token, finish])).toEqual([
      [0, 40, null],
      [1, 40, null],
      [2, 40, null],
    ]);
    expect(fate).toBe("forked");
    expect(fork({ saveTo: "file" }, [1, 2]).fate).toBe("saves");
    expect(fork({ saveTo: "file", maxTokens: 1 }, [1, 2]).fate).toBe("forked");
  });

  it("tells of each prompt token after the first, chunk by chunk, once", () => {
    const run = childRun([40, 44, 40, 2, 44], { promptLogprobs: 1 });
    const told = (tokens: number[]) => ({
      generateNext: expect.objectContaining({
        logits: { filter: expect.objectContaining({ tokens }) },
      }),
    });
    const answer = { next: { logits, totalLogitWeight: 1 } };
    expect(run.items(3)).toEqual([
      [40, told([44])],
      [44, told([40])],
      [40, told([2])],
    ]);
    const first = run.advance(3, [answer, answer, answer]);
    expect(first.promptLogprobs.map(({ chosen }) => chosen)).toEqual([-2, 0, -1]);
    expect(first.promptLogprobs[0]?.top).toEqual([[40, 0]]);
    expect(run.items(2)).toEqual([
      [2, told([44])],
      [44, { generateNext: expect.objectContaining({ token: true }) }],
    ]);
    const last = run.advance(2, [answer, { next: { token: 9 } }]);
    expect(last.promptLogprobs.map(({ chosen }) => chosen)).toEqual([-2]);
    expect(last.outputs).toHaveLength(1);
    expect(run.items(1)).toEqual([[9, { generateNext: expect.objectContaining({ token: true }) }]]);
    expect(run.advance(1, [{ next: { token: 9 } }]).promptLogprobs).toEqual([]);
  });

  it("does not go on without the logits of the prompt", () => {
    const run = childRun([40, 44, 40], { promptLogprobs: 1 });
    expect(() => run.advance(2, [])).toThrow("no logits of the prompt");
  });

  it("ends chunks at multiples", () => {
    const run = childRun(Array(30).fill(1), { kept: 3 });
    expect(run.nextChunk(8)).toBe(5);
    run.advance(5, []);
    expect(run.nextChunk(8)).toBe(8);
    run.advance(16, []);
    expect(run.nextChunk(8)).toBe(6);
  });

  it("does not go on without an answer", () => {
    expect(() => childRun([5]).advance(1, [])).toThrow("no next token");
  });
});
