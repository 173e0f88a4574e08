import { SeededRandom } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import {
  llamaCapabilities,
  refuseJob,
  samplingOf,
} from "../../../src/engines/llama/job-options.ts";
import { job } from "./llama-harness.ts";

const limits = { contextLength: 10, vocabularySize: 100 };

describe("refuseJob", () => {
  it("lets a plain job pass", () => {
    expect(refuseJob(job([1, 2, 3]), limits)).toBeUndefined();
    expect(refuseJob(job(Array(9).fill(1)), limits)).toBeUndefined();
  });

  it.each([
    ["n", job([1], { n: 2 }), "unsupported"],
    ["lora", { ...job([1]), lora: "x" }, "unsupported"],
    ["prompt_logprobs", job([1], { promptLogprobs: 0 }), "unsupported"],
    ["prompt", job([]), "invalid_request"],
    ["prompt", job([100]), "invalid_request"],
    ["logit_bias", job([1], { logitBias: { x: 1 } }), "invalid_request"],
    ["logit_bias", job([1], { logitBias: { "-1": 1 } }), "invalid_request"],
    [undefined, job(Array(10).fill(1)), "context_length_exceeded"],
  ])("refuses %s", (param, work, code) => {
    const refusal = refuseJob(work, limits);
    expect(refusal?.code).toBe(code);
    expect(refusal?.details.param).toBe(param);
  });

  it("claims nothing that it refuses", () => {
    expect(llamaCapabilities).not.toContain("n");
    expect(llamaCapabilities).not.toContain("prompt_logprobs");
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
});
