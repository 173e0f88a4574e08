import { describe, expect, it } from "vitest";
import { barChart } from "../../../src/report/html/bar-chart.ts";

describe("a chart of bars", () => {
  it("draws bars as long as their values, named and with their values", () => {
    const svg = barChart(
      [
        { name: "kv & co", value: 50, tone: "run" },
        { name: "bound", value: 100, tone: "bound" },
      ],
      (value) => `${value} ms`,
    );

    const widths = [...svg.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map(([, width]) =>
      Number(width),
    );
    expect(widths).toEqual([210, 420]);
    expect(svg).toContain(">kv &amp; co</text>");
    expect(svg).toContain(">100 ms</text>");
  });

  it("shows a bar of nothing", () => {
    expect(barChart([{ name: "none", value: 0, tone: "limit" }], String)).toContain('width="2"');
  });
});
