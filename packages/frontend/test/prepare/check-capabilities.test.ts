import { requestId } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import { checkCapabilities } from "../../src/prepare/check-capabilities.ts";
import type { ServingRequest, WantedOutput } from "../../src/request/serving-request.ts";
import { registrationOf } from "../support/fake-view.ts";

const { card } = registrationOf({ id: "a1", type: "aggregated" });

function checking(
  output: Partial<WantedOutput>,
  capabilities: readonly string[],
  changes: Partial<ServingRequest> = {},
) {
  const request = {
    requestId: requestId("r1"),
    model: "m",
    prompt: { kind: "text", text: "" },
    output: { maxTokens: 1, n: 1, ...output },
    stop: [],
    clientRequestId: null,
    traceparent: null,
    ...changes,
  } as const;
  return () => checkCapabilities(request, { ...card, capabilities: [...capabilities] });
}

describe("what an engine can do", () => {
  it.each<readonly [string, Partial<WantedOutput>]>([
    ["n", { n: 2 }],
    ["logprobs", { logprobs: 0 }],
    ["seed", { seed: 0 }],
    ["logit_bias", { logitBias: { "1": 1 } }],
    ["min_tokens", { minTokens: 1 }],
    ["ignore_eos", { ignoreEos: true }],
    ["stop_token_ids", { stopTokenIds: [1] }],
    ["prompt_logprobs", { promptLogprobs: 0 }],
    ["top_k", { topK: 1 }],
    ["min_p", { minP: 0.1 }],
    ["repetition_penalty", { repetitionPenalty: 2 }],
    ["presence_penalty", { presencePenalty: 1 }],
    ["frequency_penalty", { frequencyPenalty: 1 }],
  ])("is asked for %s only if its card says so", (feature, output) => {
    expect(checking(output, [feature])).not.toThrow();
    expect(checking(output, [])).toThrow(
      expect.objectContaining({
        code: "unsupported",
        details: expect.objectContaining({ param: feature }),
      }),
    );
  });

  it("is always to sample", () => {
    expect(checking({ temperature: 1, topP: 0.5 }, [])).not.toThrow();
  });

  it("is a bias beside a grammar only if its card says so", () => {
    const both = { grammar: { kind: "json" }, logitBias: { "1": 1 } } as const;
    const each = ["grammar", "logit_bias"];

    expect(checking(both, [...each, "grammar_logit_bias"])).not.toThrow();
    expect(checking({ grammar: both.grammar }, each)).not.toThrow();
    expect(checking(both, each)).toThrow(
      expect.objectContaining({
        message: "logit_bias beside response_format is not supported by the engine of 'm'",
        details: expect.objectContaining({ param: "logit_bias" }),
      }),
    );
  });

  it("is said in the client's words where those are others", () => {
    expect(checking({ grammar: { kind: "json" } }, ["grammar"])).not.toThrow();
    expect(checking({ grammar: { kind: "json" } }, [])).toThrow(
      expect.objectContaining({
        message: "response_format needs grammar, which is not supported by the engine of 'm'",
        details: expect.objectContaining({ param: "response_format" }),
      }),
    );
    const returns = { promptText: true, tokens: false };
    expect(checking({ promptLogprobs: 0 }, [], { returns })).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ param: "echo" }) }),
    );
  });
});
