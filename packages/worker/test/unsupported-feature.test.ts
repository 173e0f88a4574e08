import { describe, expect, it } from "vitest";
import { unsupportedFeature } from "../src/unsupported-feature.ts";

describe("unsupportedFeature", () => {
  it.each([
    [{ n: 2 }, null, "n"],
    [{ logprobs: 0 }, null, "logprobs"],
    [{ promptLogprobs: 1 }, null, "prompt_logprobs"],
    [{ logitBias: { "5": 1 } }, null, "logit_bias"],
    [{ grammar: { kind: "json" as const } }, null, "grammar"],
    [{}, "adapter", "lora"],
  ])("names what %j asks for of an engine that cannot", (params, lora, feature) => {
    expect(unsupportedFeature({ maxTokens: 1, ...params }, lora, [])).toBe(feature);
    expect(unsupportedFeature({ maxTokens: 1, ...params }, lora, [feature])).toBeNull();
  });

  it("finds nothing in a request that asks for nothing special", () => {
    const params = { maxTokens: 1, n: 1, logitBias: {}, temperature: 1, seed: 3 };

    expect(unsupportedFeature(params, null, [])).toBeNull();
  });
});
