import type { RouterOverrides } from "@baton/protocol";
import { preferencesOf } from "../topology/taints.ts";
import { overrideFields, type RequestField, type SelectionPolicy } from "./selection-policy.ts";
import type { SelectionRequest } from "./worker-selector.ts";

/** A field of a request that has no effect. */
export type IgnoredField = RequestField | "preferred_taints";

/** Fields that the request sets and that the policy does not look at. */
export function ignoredFields(
  policy: SelectionPolicy,
  { constraints, overrides, expectedOutputTokens }: SelectionRequest,
): readonly IgnoredField[] {
  const set: RequestField[] = [];
  for (const [key, field] of Object.entries(overrideFields)) {
    if (overrides?.[key as keyof RouterOverrides] !== undefined) set.push(field);
  }
  if (expectedOutputTokens !== undefined) set.push("expected_output_tokens");
  const ignored: IgnoredField[] = set.filter((field) => policy.reads?.includes(field) !== true);
  const comparesNothing = (policy.scorers ?? []).length === 0;
  if (comparesNothing && preferencesOf(constraints).length > 0) ignored.unshift("preferred_taints");
  return ignored;
}
