import { describe, expect, it } from "vitest";
import { createStageCore } from "../../src/sim/create-stage-core.ts";

describe("the core of a stage", () => {
  it("has an index only where caches are looked at", () => {
    const has = (stage: "prefill" | "decode" | "aggregated", policy: "kv" | "least-loaded") =>
      createStageCore(stage, { policy, parameters: {} }).index !== null;

    expect([has("prefill", "kv"), has("aggregated", "kv")]).toEqual([true, true]);
    expect([has("decode", "kv"), has("aggregated", "least-loaded")]).toEqual([false, false]);
  });

  it("refuses a parameter that its policy does not have", () => {
    const parameters = { cache_threshold: 1 };

    expect(() => createStageCore("prefill", { policy: "kv", parameters })).toThrow(
      /cache_threshold/,
    );
  });
});
