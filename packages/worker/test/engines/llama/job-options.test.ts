import { SeededRandom } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { checkJob, llamaCapabilities, samplingOf } from "../../../src/engines/llama/job-options.ts";
import { job } from "./llama-harness.ts";

const limits = { contextLength: 10, vocabularySize: 100, hasGrammars: true };
const grammar = { kind: "json" } as const;

describe("checkJob", () => {
  it("lets a job pass that can run", () => {
    expect(() => checkJob(job([1, 2, 3]), limits)).not.toThrow();
    expect(() => checkJob(job(Array(9).fill(1)), limits)).not.toThrow();
    expect(() => checkJob(job([1], { n: 3, promptLogprobs: 2, grammar }), limits)).not.toThrow();
  });

  it.each([
    ["lora", { ...job([1]), lora: "x" }, "unsupported"],
    ["prompt_logprobs", job([1], { promptLogprobs: 1_000_000 }), "unsupported"],
    ["prompt", job([]), "invalid_request"],
    ["prompt", job([100]), "invalid_request"],
    ["logit_bias", job([1], { logitBias: { x: 1 } }), "invalid_request"],
    ["logit_bias", job([1], { logitBias: { "-1": 1 } }), "invalid_request"],
    [undefined, job(Array(10).fill(1)), "context_length_exceeded"],
  ])("refuses %s", (param, work, code) => {
    expect(() => checkJob(work, limits)).toThrowError(
      expect.objectContaining({ code, details: expect.objectContaining(param ? { param } : {}) }),
    );
  });

  it("has grammars only where the library has them", () => {
    const without = { ...limits, hasGrammars: false };
    expect(llamaCapabilities(limits)).toEqual(
      expect.arrayContaining(["grammar", "grammar_logit_bias"]),
    );
    expect(llamaCapabilities(without)).not.toContain("grammar");
    expect(() => checkJob(job([1], { grammar }), without)).toThrowError(
      expect.objectContaining({ code: "unsupported" }),
    );
  });
});

describe("samplingOf", () => {
  it("is neutral where the request says nothing", () => {
    const work = { ...job([1]), params: { maxTokens: 5, topK: -1 } };
    expect(samplingOf(work, new SeededRandom(1))).toEqual({
      temperature: 1,
      topK: 0,
      topP: 1,
      minP: 0,
      repetitionPenalty: 1,
      frequencyPenalty: 0,
      presencePenalty: 0,
      logitBias: [],
      seed: new SeededRandom(1).u32(),
      minTokens: 0,
      ignoreEos: false,
      stopTokenIds: [],
      logprobs: null,
      grammar: null,
    });
  });

  it("takes what the request says", () => {
    const params = { seed: 9, logitBias: { "7": -3 }, stopTokenIds: [4], logprobs: 2, topK: 3 };
    expect(samplingOf(job([1], params), new SeededRandom(1))).toMatchObject({
      seed: 9,
      logitBias: [[7, -3]],
      stopTokenIds: [4],
      logprobs: 2,
      topK: 3,
    });
  });

  it("writes a grammar out, and throws for one that cannot be kept to", () => {
    const random = new SeededRandom(1);
    expect(samplingOf(job([1], { grammar }), random).grammar).toContain("root ::= ");
    const bad = { kind: "json_schema", schema: '{"not":{}}' } as const;
    expect(() => samplingOf(job([1], { grammar: bad }), random)).toThrow(/not is not supported/);
  });
});
