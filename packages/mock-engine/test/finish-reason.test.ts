import { describe, expect, it } from "vitest";
import { finishReasonOf } from "../src/finish-reason.ts";

const eosTokenIds = new Set([2]);
const stopTokenIds = new Set([7]);

describe("finishReasonOf", () => {
  it.each([
    ["eos at an end-of-sequence token", { maxTokens: 9, eosTokenIds }, 3, 2, "eos"],
    ["stop at a stop token", { maxTokens: 9, stopTokenIds }, 3, 7, "stop"],
    ["length at the last allowed token", { maxTokens: 4 }, 3, 5, "length"],
    ["eos, not length, if both hold", { maxTokens: 4, eosTokenIds }, 3, 2, "eos"],
    ["nothing before any of these", { maxTokens: 5, eosTokenIds, stopTokenIds }, 3, 5, undefined],
    ["nothing at an ignored eos", { maxTokens: 9, eosTokenIds, ignoreEos: true }, 3, 2, undefined],
    [
      "nothing at eos below minTokens",
      { maxTokens: 9, minTokens: 4, eosTokenIds },
      3,
      2,
      undefined,
    ],
    [
      "nothing at a stop token below minTokens",
      { maxTokens: 9, minTokens: 4, stopTokenIds },
      3,
      7,
      undefined,
    ],
    ["eos after minTokens", { maxTokens: 9, minTokens: 3, eosTokenIds }, 3, 2, "eos"],
    ["length even below minTokens", { maxTokens: 1, minTokens: 4 }, 0, 5, "length"],
    [
      "stop at a stop token while eos is ignored",
      { maxTokens: 9, ignoreEos: true, stopTokenIds: eosTokenIds },
      0,
      2,
      "stop",
    ],
  ] as const)("says %s", (_, rules, index, token, expected) => {
    expect(finishReasonOf(rules, index, token)).toBe(expected);
  });
});
