import { describe, expect, it } from "vitest";
import { type LineChart, legend, lineChart } from "../../../src/report/html/line-chart.ts";

const chart: LineChart = {
  x: { label: "seconds <s>", kind: "linear", format: String },
  y: { label: "", kind: "linear", format: (value) => `${value} ms` },
  hasMarks: true,
  series: [
    {
      name: "first & best",
      tone: "run",
      points: [
        [0, 0],
        [10, 5],
      ],
    },
    { name: "other", tone: "bound", points: [[0, 10]] },
  ],
};

describe("a chart of lines", () => {
  it("draws each line from its first point to its last, the first line above the others", () => {
    const svg = lineChart(chart);

    expect(svg).toContain('class="line stroke-run" d="M64 244L606 128"');
    expect(svg.indexOf("stroke-bound")).toBeLessThan(svg.indexOf("stroke-run"));
  });

  it("names its values where they are pointed at, if there are marks", () => {
    expect(lineChart(chart)).toContain("<title>first &amp; best, 10: 5 ms</title>");
    expect(lineChart({ ...chart, hasMarks: false })).not.toContain("<title>");
  });

  it("says what its axes are", () => {
    const svg = lineChart(chart);

    expect(svg).toContain("seconds &lt;s&gt;");
    expect(svg).toContain(">10 ms</text>");
  });

  it("can be drawn without points", () => {
    const log = { label: "", kind: "log", format: String } as const;

    expect(lineChart({ ...chart, x: log, y: log, series: [] })).toMatch(/^<svg .*<\/svg>$/);
  });

  it("has a legend", () => {
    expect(legend(chart.series)).toContain('<i class="fill-run"></i>first &amp; best');
  });
});
