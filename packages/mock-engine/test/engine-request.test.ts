import { describe, expect, it } from "vitest";
import { rejectionOf } from "../src/engine-request.ts";
import { countingPlan, requestOf, tokensFrom } from "./support/builders.ts";
import { testHasher } from "./support/test-hasher.ts";

const limits = { blockCount: 5, blockSize: 4, maxModelLen: 19, maxNumSeqs: 2 };

describe("rejectionOf", () => {
  it("lets in a prompt that fits", () => {
    expect(rejectionOf(requestOf({ promptTokens: tokensFrom(0, 18) }), limits)).toBeUndefined();
  });

  it.each([
    ["empty_prompt", requestOf({ promptTokens: new Uint32Array(0) })],
    ["no_output", requestOf({ rules: { maxTokens: 0 } })],
    ["no_output", requestOf({ rules: { maxTokens: Number.NaN } })],
    ["no_plan", requestOf({ plans: [] })],
    ["too_many_sequences", requestOf({ plans: [countingPlan, countingPlan, countingPlan] })],
    ["prompt_too_long", requestOf({ promptTokens: tokensFrom(0, 19) })],
  ] as const)("says %s", (reason, request) => {
    expect(rejectionOf(request, limits)).toBe(reason);
  });

  it("refuses a prompt of more blocks than the pool has", () => {
    const unbounded = { ...limits, maxModelLen: Number.POSITIVE_INFINITY };
    expect(rejectionOf(requestOf({ promptTokens: tokensFrom(0, 20) }), unbounded)).toBeUndefined();
    expect(rejectionOf(requestOf({ promptTokens: tokensFrom(0, 21) }), unbounded)).toBe(
      "exceeds_pool",
    );
  });

  it("refuses hashes of another number of blocks", () => {
    const promptTokens = tokensFrom(0, 10);
    const hashesOf = (blockSize: number) => {
      const blockHashes = testHasher.blockHashes(promptTokens, blockSize);
      return { blockHashes, sequenceHashes: testHasher.sequenceHashes(blockHashes) };
    };
    const good = requestOf({ promptTokens, promptHashes: hashesOf(4) });
    const bad = requestOf({ promptTokens, promptHashes: hashesOf(2) });

    expect(rejectionOf(good, limits)).toBeUndefined();
    expect(rejectionOf(bad, limits)).toBe("hashes_mismatch");
  });
});
