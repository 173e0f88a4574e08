import { createPolicy, type PolicySpec } from "./create-policy.ts";
import { PolicySelector } from "./policy-selector.ts";
import type { RouterMode } from "./router-mode.ts";
import type { SelectionPolicy } from "./selection-policy.ts";
import type { WorkerSelector } from "./worker-selector.ts";

/**
 * A selector of a built-in policy, by its mode alone or with its parameters, or of a policy of one's own. See
 * `parseRouterMode` for a name that a person typed. Throws a `RangeError` that names a wrong parameter.
 */
export function createSelector(policy: RouterMode | PolicySpec | SelectionPolicy): WorkerSelector {
  if (typeof policy === "string") return new PolicySelector(createPolicy({ mode: policy }));
  return new PolicySelector("mode" in policy ? createPolicy(policy) : policy);
}
