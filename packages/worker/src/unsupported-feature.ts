import type { GenerationParams } from "@baton/protocol";

/** The first option of a request that an engine of these capabilities cannot serve; null if it can serve all. */
export function unsupportedFeature(
  params: GenerationParams,
  lora: string | null,
  capabilities: readonly string[],
): string | null {
  const asked: readonly (readonly [feature: string, isAsked: boolean])[] = [
    ["n", (params.n ?? 1) > 1],
    ["logprobs", params.logprobs !== undefined],
    ["prompt_logprobs", params.promptLogprobs !== undefined],
    ["logit_bias", params.logitBias !== undefined && Object.keys(params.logitBias).length > 0],
    ["grammar", params.grammar !== undefined],
    ["lora", lora !== null],
  ];
  for (const [feature, isAsked] of asked) {
    if (isAsked && !capabilities.includes(feature)) return feature;
  }
  return null;
}
