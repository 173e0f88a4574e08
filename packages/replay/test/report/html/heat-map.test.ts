import { describe, expect, it } from "vitest";
import { heatMap } from "../../../src/report/html/heat-map.ts";

describe("a heat map", () => {
  it("has a cell for each share, stronger the larger it is", () => {
    const svg = heatMap([{ name: "w<0>", shares: [0, 0.5, 1], note: "50 %" }], "60 s");

    const opacities = [...svg.matchAll(/fill-opacity="([\d.]+)"/g)].map(([, value]) => value);
    expect(opacities).toEqual(["0.06", "0.53", "1.00"]);
    expect(svg).toContain("<title>w&lt;0&gt;: 50 %</title>");
    expect(svg).toContain(">50 %</text>");
    expect(svg).toContain(">60 s</text>");
  });
});
