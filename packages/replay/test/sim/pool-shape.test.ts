import { describe, expect, it } from "vitest";
import { stagesOf } from "../../src/sim/pool-shape.ts";

describe("the stages of a pool", () => {
  it("are one if its workers do both halves, else two", () => {
    expect(stagesOf({ kind: "aggregated", workers: 3 })).toEqual([
      { stage: "aggregated", workers: 3 },
    ]);
    expect(stagesOf({ kind: "disaggregated", prefill: 1, decode: 2 })).toEqual([
      { stage: "prefill", workers: 1 },
      { stage: "decode", workers: 2 },
    ]);
  });
});
