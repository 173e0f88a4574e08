import { expect, it } from "vitest";
import { resolveEngineOptions } from "../src/engine-options.ts";

it("has the documented defaults", () => {
  expect(resolveEngineOptions({})).toEqual({
    blockCount: 16_384,
    blockSize: 64,
    maxNumSeqs: 256,
    maxNumBatchedTokens: 8192,
    maxModelLen: Number.POSITIVE_INFINITY,
    prefixCaching: true,
    chunkedPrefill: true,
    preemptionMode: "lifo",
  });
});

it("bounds a sequence by one pass when prompts are not chunked", () => {
  const options = { chunkedPrefill: false, maxNumBatchedTokens: 512, maxModelLen: 2048 };
  expect(resolveEngineOptions(options).maxModelLen).toBe(512);
});

it("refuses limits below 1 by name", () => {
  expect(() => resolveEngineOptions({ maxNumSeqs: 0 })).toThrow("maxNumSeqs must be at least 1");
  expect(() => resolveEngineOptions({ maxNumBatchedTokens: Number.NaN })).toThrow(RangeError);
});
