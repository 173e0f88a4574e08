import { describe, expect, it } from "vitest";
import { createMetricsRegistry } from "../src/metrics-registry.ts";

async function rows(registry: { text(): Promise<string> }): Promise<string[]> {
  const page = await registry.text();
  return page.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

describe("createMetricsRegistry", () => {
  it("puts the figures of many actors under one name, each with its actor and id", async () => {
    const registry = createMetricsRegistry();
    registry.forActor("worker", "w-1").counter("baton_x_total", "Things.").add();
    registry.forActor("worker", "w-2").counter("baton_x_total", "Things.").add(5);

    expect(await registry.text()).toBe(
      `${[
        "# HELP baton_x_total Things.",
        "# TYPE baton_x_total counter",
        'baton_x_total{actor="worker",id="w-1"} 1',
        'baton_x_total{actor="worker",id="w-2"} 5',
      ].join("\n")}\n`,
    );
  });

  it("counts by labels, and shows a counter without labels before it has counted", async () => {
    const registry = createMetricsRegistry();
    const metrics = registry.forActor("frontend", "f");
    metrics.counter("baton_plain_total", "Plain.");
    const counter = metrics.counter("baton_y_total", "By code.", ["stage", "code"]);

    counter.add(1, { stage: "a", code: "x" });
    counter.add(2, { code: "x", stage: "a" });
    counter.add(1, { stage: "a", code: "y" });

    expect(await rows(registry)).toEqual([
      'baton_plain_total{actor="frontend",id="f"} 0',
      'baton_y_total{actor="frontend",id="f",stage="a",code="x"} 3',
      'baton_y_total{actor="frontend",id="f",stage="a",code="y"} 1',
    ]);
    expect(await rows(registry)).toHaveLength(3);
  });

  it("reads gauges when asked, one value or one per set of labels", async () => {
    const registry = createMetricsRegistry();
    const metrics = registry.forActor("worker", "w");
    let held = 3;
    const byRole: [Record<string, string>, number][] = [[{ role: "decode" }, 1]];
    metrics.gauge("baton_held", "Held.", () => held);
    metrics.gauge("baton_by_role", "By role.", () => byRole, ["role"]);
    await registry.text();

    held = 0;
    byRole[0] = [{ role: "prefill" }, 4];

    expect(await rows(registry)).toEqual([
      'baton_held{actor="worker",id="w"} 0',
      'baton_by_role{actor="worker",id="w",role="prefill"} 4',
    ]);
  });

  it("keeps distributions", async () => {
    const registry = createMetricsRegistry();
    const histogram = registry
      .forActor("router", "r")
      .histogram("baton_z_seconds", "Time.", [0.1, 1], ["kind"]);

    histogram.observe(0.05, { kind: "a" });
    histogram.observe(0.5, { kind: "a" });

    const text = await registry.text();
    expect(text).toContain('baton_z_seconds_bucket{le="0.1",actor="router",id="r",kind="a"} 1');
    expect(text).toContain('baton_z_seconds_bucket{le="+Inf",actor="router",id="r",kind="a"} 2');
    expect(text).toContain('baton_z_seconds_sum{actor="router",id="r",kind="a"} 0.55');
  });

  it("drops all of one actor's figures and no other's", async () => {
    const registry = createMetricsRegistry();
    const [one, two] = ["w-1", "w-2"].map((id) => registry.forActor("worker", id));
    for (const metrics of [one, two]) {
      metrics?.counter("baton_x_total", "X.").add();
      metrics?.gauge("baton_g", "G.", () => 1);
      metrics?.histogram("baton_h", "H.", [1]).observe(0.5);
    }

    one?.drop();

    const text = await registry.text();
    expect(text).not.toContain('id="w-1"');
    expect(text.match(/id="w-2"/g)?.length).toBe(6);
  });

  it("refuses one name for two things", () => {
    const registry = createMetricsRegistry();
    registry.forActor("worker", "w-1").counter("baton_x_total", "X.");

    for (const declare of [
      () => registry.forActor("worker", "w-2").counter("baton_x_total", "Other help."),
      () => registry.forActor("worker", "w-2").counter("baton_x_total", "X.", ["code"]),
      () => registry.forActor("worker", "w-2").gauge("baton_x_total", "X.", () => 1),
      () => registry.forActor("worker", "w-2").histogram("baton_x_total", "X.", [1]),
    ]) {
      expect(declare).toThrow(expect.objectContaining({ code: "internal" }));
    }
  });

  it("adds the figures of the process under its name", async () => {
    const text = await createMetricsRegistry({ processLabel: "up" }).text();

    expect(text).toContain('process_cpu_seconds_total{process="up"}');
  });
});
