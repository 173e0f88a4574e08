import { describe, expect, it } from "vitest";
import { htmlReport, readTraceFile, replay } from "../../../src/index.ts";
import { percent } from "../../../src/report/summary-text.ts";
import { dynamoTrace, optionsOf } from "../../support/builders.ts";

const rows = readTraceFile(dynamoTrace("mooncake_replay_tiny.jsonl"), 512);
const result = replay({ name: "<tiny>", rows }, optionsOf({ policy: "kv", sloTtftMs: 500 }));

describe("the page", () => {
  const page = htmlReport(result);
  const { report } = result;

  it("holds the figures of the run and of what it is compared with", () => {
    expect(page).toContain(percent(report.hit_rate));
    expect(page).toContain(percent(report.bounds.pooled.hit_rate));
    expect(page).toContain(percent(report.bounds.infinite.hit_rate));
    expect(page).toContain(percent(report.baseline?.hit_rate ?? -1));
    expect(page).toContain("TTFT ≤ 500 ms");
    expect(page).toContain(report.digest);
    for (const { id } of report.per_worker) expect(page).toContain(id);
  });

  it("needs nothing from elsewhere, and runs nothing", () => {
    expect(page).not.toMatch(/https?:|<script|<link|src=|url\(|@import/);
    expect(page).toMatch(/^<!doctype html>/);
    expect(page).toContain("prefers-color-scheme:dark");
  });

  it("shows names as text", () => {
    expect(page).toContain("Replay of &lt;tiny&gt;");
    expect(page).not.toContain("<tiny>");
  });

  it("draws the same charts with two runs where there is no baseline", () => {
    const plain = htmlReport(replay({ name: "tiny", rows }, optionsOf()));

    expect(page.match(/<svg/g)).toHaveLength(8);
    expect(plain.match(/<svg/g)).toHaveLength(8);
    expect(plain).not.toContain('stroke-baseline" d=');
    expect(plain).toContain("no limits set");
  });
});
