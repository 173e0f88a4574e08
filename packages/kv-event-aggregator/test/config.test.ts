import { readOptions } from "@baton/runtime";
import { describe, expect, it } from "vitest";
import { kvEventAggregatorOptions } from "../src/config.ts";

describe("kvEventAggregatorOptions", () => {
  it("has the limits of the reference by default, and serves all models", () => {
    expect(readOptions(kvEventAggregatorOptions, { flags: {}, env: {} })).toEqual({
      bufferedBatches: 1_024,
      recoveryAttempts: 8,
      recoveryBackoffMs: 200,
      recoveryTimeoutMs: 5_000,
      recoveryConcurrency: 16,
      lostHoldMs: 5_000,
      maxSources: 10_000,
      maxHistoryAsks: 4_096,
      dumpKeepMs: 2_000,
      dumpCacheBytes: 67_108_864,
    });
  });

  it("refuses what is no model's name", () => {
    const read = (model: string) =>
      readOptions(kvEventAggregatorOptions, { flags: { model }, env: {} });

    expect(read("any/name.1").model).toBe("any/name.1");
    expect(() => read("x".repeat(301))).toThrow(/--model/);
  });
});
