import type { EndRules } from "./engine-request.ts";

/** Why a generation ended by itself: an end-of-sequence token or the end of its plan, a stop token, or a length limit. */
export type FinishReason = "eos" | "stop" | "length";

/** Why the token at output position `index` ends the generation, if it does. The length limit of the model is not looked at. */
export function finishReasonOf(
  rules: EndRules,
  index: number,
  token: number,
): FinishReason | undefined {
  if (index >= (rules.minTokens ?? 0)) {
    if (rules.ignoreEos !== true && rules.eosTokenIds?.has(token) === true) return "eos";
    if (rules.stopTokenIds?.has(token) === true) return "stop";
  }
  return index + 1 >= rules.maxTokens ? "length" : undefined;
}
