import { describe, expect, it } from "vitest";
import { mergeMetricsText } from "../src/merge-metrics.ts";
import { createMetricsRegistry } from "../src/metrics-registry.ts";

describe("mergeMetricsText", () => {
  it("joins the pages of two processes: help and type once, every sample", async () => {
    const pages = await Promise.all(
      ["w-1", "w-2"].map((id) => {
        const registry = createMetricsRegistry();
        registry.forActor("worker", id).counter("baton_x_total", "X.").add();
        registry.forActor("worker", id).histogram("baton_h", "H.", [1]).observe(2);
        return registry.text();
      }),
    );

    const merged = mergeMetricsText(pages);

    const lines = merged.split("\n");
    expect(lines.filter((line) => line.startsWith("# TYPE baton_x_total"))).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith("# HELP baton_h"))).toHaveLength(1);
    const x = lines.indexOf("# TYPE baton_x_total counter");
    expect(lines.slice(x + 1, x + 3)).toEqual([
      'baton_x_total{actor="worker",id="w-1"} 1',
      'baton_x_total{actor="worker",id="w-2"} 1',
    ]);
    for (const page of pages) {
      for (const line of page.split("\n")) expect(lines).toContain(line);
    }
    expect(merged.endsWith("\n")).toBe(true);
  });

  it("keeps the first value of a series that both have, also with odd label values", () => {
    const merged = mergeMetricsText([
      '# HELP a A.\n# TYPE a gauge\na{x="1 } 2"} 3\nplain 1\n',
      '# HELP a A.\n# TYPE a gauge\na{x="1 } 2"} 4\na{x="other"} 5\n',
    ]);

    expect(merged).toContain('a{x="1 } 2"} 3');
    expect(merged).not.toContain('a{x="1 } 2"} 4');
    expect(merged).toContain('a{x="other"} 5');
    expect(merged).toContain("plain 1");
  });

  it("makes an empty page of none", () => {
    expect(mergeMetricsText([])).toBe("");
    expect(mergeMetricsText(["", "\n"])).toBe("");
  });
});
