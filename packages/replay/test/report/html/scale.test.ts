import { describe, expect, it } from "vitest";
import { linearScale, logScale } from "../../../src/report/html/scale.ts";

const span = { from: 0, to: 100 };

describe("an even scale", () => {
  it("goes from 0 over the largest value in round steps", () => {
    const scale = linearScale(43, span);

    expect(scale.ticks).toEqual([0, 10, 20, 30, 40, 50]);
    expect([scale.at(0), scale.at(25), scale.at(50)]).toEqual([0, 50, 100]);
  });

  it("ends at the largest value where that is round", () => {
    expect(linearScale(1, span).ticks).toHaveLength(6);
    expect(linearScale(1, span).at(1)).toBe(100);
  });

  it("can be drawn with nothing on it", () => {
    expect(linearScale(0, span).at(0)).toBe(0);
    expect(linearScale(0, span).ticks.length).toBeGreaterThan(1);
  });
});

describe("a scale by powers of ten", () => {
  it("goes from the power below to the power above", () => {
    const scale = logScale(30, 20_000, span);

    expect(scale.ticks).toEqual([10, 100, 1_000, 10_000, 100_000]);
    expect(scale.at(1_000)).toBeCloseTo(50, 9);
  });

  it("has steps between where there are few powers", () => {
    expect(logScale(15, 80, span).ticks).toEqual([10, 20, 50, 100]);
  });

  it("draws what lies beyond at its ends", () => {
    const scale = logScale(10, 100, span);

    expect([scale.at(0), scale.at(1), scale.at(1_000)]).toEqual([0, 0, 100]);
  });
});
