import { KvScorer } from "./kv-scorer.ts";
import type { KvCostOptions, LoadTrackingOptions } from "./policy-options.ts";
import { overrideFields, type SelectionPolicy } from "./selection-policy.ts";
import { createSoftmaxPicker } from "./softmax-picker.ts";

/** The default KV-aware policy. */
export function createKvPolicy(
  options: KvCostOptions,
  tracking: LoadTrackingOptions,
): SelectionPolicy {
  const overrides = Object.values(overrideFields);
  return {
    type: "kv",
    usesCacheData: true,
    scorers: [new KvScorer(options, tracking)],
    picker: createSoftmaxPicker(options.routerTemperature),
    reads: tracking.trackOutputBlocks ? [...overrides, "expected_output_tokens"] : overrides,
    tierWeights: { host: options.hostCacheHitWeight, disk: options.diskCacheHitWeight },
  };
}
