import { describe, expect, it } from "vitest";
import { growthOf, type Sample } from "../support/soak/flatness.ts";
import { flatnessTable, isAllFlat } from "../support/soak/soak-table.ts";

const samplesOf = (figure: string, values: readonly number[]): readonly Sample[] =>
  values.map((value, index) => ({ requests: index * 1_000, figures: { [figure]: value } }));

describe("growth", () => {
  it("leaves out the first third, where caches fill", () => {
    const samples = samplesOf("timers", [1, 50, 90, 100, 100, 100, 100, 100, 100]);

    expect(growthOf(samples, [{ figure: "timers", most: 0 }])).toEqual([
      { figure: "timers", early: 100, late: 100, grown: 0, most: 0, isFlat: true },
    ]);
  });

  it("sees a figure that creeps, and no single peak", () => {
    const creeping = samplesOf("timers", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const peak = samplesOf("timers", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 99]);
    const bounds = [{ figure: "timers", most: 3 }];

    expect(growthOf(creeping, bounds)).toMatchObject([
      { early: 4, late: 10, grown: 6, isFlat: false },
    ]);
    expect(growthOf(peak, bounds)).toMatchObject([{ late: 99, grown: 0, isFlat: true }]);
  });

  it("allows the larger of an amount and a share", () => {
    const samples = samplesOf("heapUsed", [100, 100, 100, 101, 102, 103, 104]);

    expect(growthOf(samples, [{ figure: "heapUsed", most: 1, share: 0.05 }])).toMatchObject([
      { most: 5, isFlat: true },
    ]);
  });

  it("asks for enough samples", () => {
    expect(() => growthOf(samplesOf("timers", [1, 2, 3]), [])).toThrow("2 samples");
  });
});

describe("the table of a soak", () => {
  const figures = {
    heapUsed: 20 * 1024 * 1024,
    heapTotal: 32 * 1024 * 1024,
    external: 0,
    rss: 0,
    timers: 5,
    subscriptions: 7,
    descriptors: 22,
  };
  const flat = Array.from({ length: 8 }, (_, i) => ({ requests: i * 1_000, figures }));
  const leaking = flat.map((sample, i) => ({ ...sample, figures: { ...figures, timers: 5 * i } }));

  it("has a row for each actor and marks what grows", () => {
    const samplesById = new Map([
      ["frontend", flat],
      ["worker", leaking],
    ]);

    expect(flatnessTable(samplesById).split("\n").slice(2)).toEqual([
      "| frontend | 20.0 → 20.0 (+0.0) | 32.0 → 32.0 (+0.0) | 0.0 → 0.0 (+0.0) | 0.0 → 0.0 (+0.0) | 5 → 5 (+0) | 7 → 7 (+0) | 22 → 22 (+0) |",
      "| worker | 20.0 → 20.0 (+0.0) | 32.0 → 32.0 (+0.0) | 0.0 → 0.0 (+0.0) | 0.0 → 0.0 (+0.0) | 15 → 35 (+20) **grows** | 7 → 7 (+0) | 22 → 22 (+0) |",
    ]);
    expect(isAllFlat(samplesById)).toBe(false);
    expect(isAllFlat(new Map([["frontend", flat]]))).toBe(true);
  });
});
