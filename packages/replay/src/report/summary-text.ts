import type { Distribution } from "./distribution.ts";
import type { ReplayReport } from "./replay-report.ts";

/** A replay's result for a terminal. */
export function summaryText(report: ReplayReport): string {
  const { bounds, baseline, slo } = report;
  const workers = Object.entries(report.workers).map(([type, count]) => `${count} ${type}`);
  const rows: [string, string][] = [
    ["trace", `${report.trace}, ${report.requests} requests, speed ${report.speed}`],
    ["workers", `${workers.join(" + ")}, ${report.blocks} blocks of ${report.block_size}`],
    ["policy", policyText(report)],
    ["hit rate", `${percent(report.hit_rate)} of prompt blocks`],
    ["TTFT ms", distributionText(report.ttft_ms)],
    ["ITL ms", distributionText(report.itl_ms)],
    ["goodput", `${report.goodput_rps.toFixed(2)} requests/s${sloText(slo)}`],
    ["duration", `${report.duration_s.toFixed(1)} s of virtual time`],
    ["pooled cache", sideText(bounds.pooled)],
    ["infinite cache", `hit rate ${percent(bounds.infinite.hit_rate)}`],
  ];
  if (baseline !== null) rows.push([baseline.policy, sideText(baseline)]);
  if (report.refused > 0) rows.push(["refused", `${report.refused} too long for any worker`]);
  rows.push(["digest", report.digest]);
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}\n`).join("");
}

/** A share as per cent with two places. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}

/** The policy with the parameters that were given to it. */
export function policyText({ policy, parameters }: ReplayReport): string {
  const given = Object.entries(parameters).map(([name, value]) => `${name} ${value}`);
  return [policy, ...given].join(", ");
}

function distributionText({ mean, p50, p95, p99 }: Distribution): string {
  const named = { mean, p50, p95, p99 };
  return Object.entries(named)
    .map(([name, value]) => `${name} ${value.toFixed(1)}`)
    .join("  ");
}

function sideText(side: { readonly hit_rate: number; readonly ttft_ms_mean: number }): string {
  return `hit rate ${percent(side.hit_rate)}, mean TTFT ${side.ttft_ms_mean.toFixed(1)} ms`;
}

function sloText({ ttft_ms, itl_ms }: ReplayReport["slo"]): string {
  const limits = [
    ...(ttft_ms === null ? [] : [`TTFT ≤ ${ttft_ms} ms`]),
    ...(itl_ms === null ? [] : [`ITL ≤ ${itl_ms} ms`]),
  ];
  return limits.length === 0 ? "" : ` with ${limits.join(" and ")}`;
}
