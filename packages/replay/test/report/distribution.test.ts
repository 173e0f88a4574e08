import { describe, expect, it } from "vitest";
import { distributionOf, percentileOf } from "../../src/report/distribution.ts";

describe("a distribution", () => {
  it("is the mean and the values that so many per cent are not above", () => {
    const values = Float64Array.from({ length: 200 }, (_, at) => 200 - at);

    expect(distributionOf(values)).toEqual({ mean: 100.5, p50: 100, p95: 190, p99: 198 });
    expect(values[0]).toBe(200);
  });

  it("of one value is that value, of none 0", () => {
    expect(distributionOf(Float64Array.of(3))).toEqual({ mean: 3, p50: 3, p95: 3, p99: 3 });
    expect(distributionOf(new Float64Array())).toEqual({ mean: 0, p50: 0, p95: 0, p99: 0 });
  });

  it("has its ends at 0 and 100 per cent", () => {
    const sorted = Float64Array.of(1, 2, 3);

    expect([percentileOf(sorted, 0), percentileOf(sorted, 100)]).toEqual([1, 3]);
  });
});
