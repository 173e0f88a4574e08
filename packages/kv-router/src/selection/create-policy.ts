import { createKvPolicy } from "./kv-policy.ts";
import { leastLoadedPolicy } from "./least-loaded-policy.ts";
import { defaultLoadTracking, type LoadTrackingOptions } from "./policy-options.ts";
import {
  checkPolicyParameters,
  kvCostOptionsFrom,
  twoTierOptionsFrom,
} from "./policy-parameters.ts";
import { powerOfTwoPicker } from "./power-of-two-picker.ts";
import { randomPicker } from "./random-picker.ts";
import { requestsScorer } from "./requests-scorer.ts";
import { createRoundRobinPicker } from "./round-robin-picker.ts";
import type { RouterMode } from "./router-mode.ts";
import type { SelectionPolicy } from "./selection-policy.ts";
import { TwoTierScorer } from "./two-tier-scorer.ts";

/** A built-in policy, with what it is given. */
export interface PolicySpec {
  readonly mode: RouterMode;
  /** By the names of `policyParameters`; what is absent has its default. */
  readonly parameters?: Readonly<Record<string, number>>;
  /** What the router keeps count of; absent: the defaults. Only mode `kv` looks at it. */
  readonly tracking?: LoadTrackingOptions;
}

/** Builds a built-in policy. Throws a `RangeError` that names the first parameter that is unknown or out of range. */
export function createPolicy(spec: PolicySpec): SelectionPolicy {
  const { mode, parameters = {}, tracking = defaultLoadTracking } = spec;
  const fault = checkPolicyParameters(mode, parameters)[0];
  if (fault !== undefined) throw new RangeError(fault.text);
  const plain = { type: mode, usesCacheData: false };
  switch (mode) {
    case "round-robin":
      return { ...plain, picker: createRoundRobinPicker() };
    case "random":
      return { ...plain, picker: randomPicker };
    case "least-loaded":
      return leastLoadedPolicy;
    case "power-of-two":
      return { ...plain, scorers: [requestsScorer], picker: powerOfTwoPicker };
    case "direct":
      return { ...plain, needsPin: true };
    case "kv":
      return createKvPolicy(kvCostOptionsFrom(parameters), tracking);
    case "two-tier": {
      const scorer = new TwoTierScorer(twoTierOptionsFrom(parameters));
      return { type: mode, usesCacheData: true, scorers: [scorer] };
    }
  }
}
