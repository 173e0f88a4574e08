import type { Replay } from "../../replay.ts";
import { loadBinMs, type ReplayWorker } from "../../sim/replay-worker.ts";
import type { SimulationResult } from "../../sim/simulation.ts";
import type { ReplayReport } from "../replay-report.ts";
import { ttftsOf } from "../report-of.ts";
import { percent, policyText } from "../summary-text.ts";
import { type Bar, barChart } from "./bar-chart.ts";
import { heatMap } from "./heat-map.ts";
import {
  type Axis,
  type LineChart,
  legend,
  lineChart,
  type Series,
  type Tone,
} from "./line-chart.ts";
import { digits, escapeText, timeText } from "./markup.ts";
import { cumulativeShares, hitShare, meanTtft, overTime, sharesOver } from "./over-time.ts";
import { pageStyle } from "./page-style.ts";

type NoteOf = (worker: ReplayWorker, mean: string) => string;

const stretches = 72;
const heatCells = 120;
const curvePoints = 200;

const percentAxis = (label: string): Axis => ({
  label,
  kind: "linear",
  format: (share) => `${digits(share * 100)} %`,
});
const timeAxis: Axis = { label: "arrival, virtual seconds", kind: "linear", format: digits };

/** A replay as one page of HTML that needs nothing else: figures, charts, and all that it was run with. */
export function htmlReport(replay: Replay): string {
  const { report } = replay;
  const title = `Replay of ${report.trace}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeText(title)}</title><style>${pageStyle}</style></head><body><main>
<h1>${escapeText(title)}</h1><p>${escapeText(subtitle(report))}</p>
${tiles(report)}
<div class="grid2">${comparisonCards(report)}${curveCards(replay)}</div>
${loadCards(replay)}
${settingsCard(report)}
</main></body></html>
`;
}

function subtitle(report: ReplayReport): string {
  const workers = Object.entries(report.workers).map(([type, count]) => `${count} ${type}`);
  return `${policyText(report)} · ${workers.join(" + ")} workers of ${report.blocks} blocks · ${report.requests} requests at ${report.speed}× over ${digits(report.duration_s)} s`;
}

function tiles(report: ReplayReport): string {
  const { ttft_ms, itl_ms, bounds, baseline } = report;
  const against = [
    `pooled cache ${timeText(bounds.pooled.ttft_ms_mean)}`,
    ...(baseline === null ? [] : [`${baseline.policy} ${timeText(baseline.ttft_ms_mean)}`]),
  ];
  const all = [
    tile("Mean TTFT", timeText(ttft_ms.mean), against.join(" · ")),
    tile(
      "p95 TTFT",
      timeText(ttft_ms.p95),
      `p50 ${timeText(ttft_ms.p50)} · p99 ${timeText(ttft_ms.p99)}`,
    ),
    tile("Hit rate", percent(report.hit_rate), `pooled cache ${percent(bounds.pooled.hit_rate)}`),
    tile("Mean ITL", timeText(itl_ms.mean), `p99 ${timeText(itl_ms.p99)}`),
    tile("Goodput", `${digits(report.goodput_rps)} /s`, sloText(report)),
  ];
  return `<div class="tiles">${all.join("")}</div>`;
}

function tile(name: string, value: string, note: string): string {
  return `<div class="card tile"><span>${escapeText(name)}</span><b>${escapeText(value)}</b><span>${escapeText(note)}</span></div>`;
}

function sloText({ slo }: ReplayReport): string {
  const limits = [
    ...(slo.ttft_ms === null ? [] : [`TTFT ≤ ${timeText(slo.ttft_ms)}`]),
    ...(slo.itl_ms === null ? [] : [`ITL ≤ ${timeText(slo.itl_ms)}`]),
  ];
  return limits.length === 0 ? "no limits set" : limits.join(", ");
}

function comparisonCards(report: ReplayReport): string {
  const { bounds, baseline } = report;
  const sides: (Omit<Bar, "value"> & { readonly hit: number; readonly ttft: number })[] = [
    { name: report.policy, tone: "run", hit: report.hit_rate, ttft: report.ttft_ms.mean },
    ...(baseline === null
      ? []
      : [
          {
            name: baseline.policy,
            tone: "baseline" as const,
            hit: baseline.hit_rate,
            ttft: baseline.ttft_ms_mean,
          },
        ]),
    {
      name: "pooled cache",
      tone: "bound",
      hit: bounds.pooled.hit_rate,
      ttft: bounds.pooled.ttft_ms_mean,
    },
  ];
  const hits: Bar[] = sides.map(({ name, tone, hit }) => ({ name, tone, value: hit }));
  hits.push({ name: "infinite cache", tone: "limit", value: bounds.infinite.hit_rate });
  const times: Bar[] = sides.map(({ name, tone, ttft }) => ({ name, tone, value: ttft }));
  return (
    card("Mean time to first token", "From arrival, queues included.", barChart(times, timeText)) +
    card(
      "Prompt blocks found in a cache",
      "On the workers that compute prompts.",
      barChart(hits, percent),
    )
  );
}

function curveCards(replay: Replay): string {
  const sides = sidesOf(replay);
  const curve = (label: string, valuesOf: (result: SimulationResult) => Float64Array) =>
    ({
      x: { label, kind: "log", format: timeText },
      y: percentAxis(""),
      hasMarks: false,
      series: sides.map(({ name, tone, result }) => ({
        name,
        tone,
        points: cumulativeShares(valuesOf(result), curvePoints),
      })),
    }) satisfies LineChart;
  const along = (y: Axis, measure: typeof meanTtft): LineChart => ({
    x: timeAxis,
    y,
    hasMarks: true,
    series: sides.map(({ name, tone, result }) => ({
      name,
      tone,
      points: overTime(result.measurements.outcomes, stretches, measure),
    })),
  });
  const firstTokens = curve("time to first token", ttftsOf);
  const tokens = curve("time between tokens", ({ measurements }) => measurements.itlMs.values());
  const ttft = along({ label: "", kind: "log", format: timeText }, meanTtft);
  const hits = along(percentAxis(""), hitShare);
  return [
    chartCard("Time to first token", "Share of requests that had it by then.", firstTokens),
    chartCard("Time between tokens", "Share of tokens that came by then after the last.", tokens),
    chartCard("Time to first token over time", "Mean of those that arrived together.", ttft),
    chartCard("Hit rate over time", "Blocks found of those that arrived together.", hits),
  ].join("");
}

function sidesOf({ run, pooled, baseline }: Replay): (Omit<Series, "points"> & Replay["run"])[] {
  const side = (tone: Tone, of: Replay["run"]) => ({ ...of, tone });
  return [
    side("run", run),
    ...(baseline === null ? [] : [side("baseline", baseline)]),
    side("bound", pooled),
  ];
}

function loadCards({ run: { result } }: Replay): string {
  const { workers, durationMs } = result;
  const map = (binsOf: (worker: ReplayWorker) => readonly number[], noteOf: NoteOf) => {
    const rows = workers.map((worker) => {
      const shares = sharesOver(binsOf(worker), {
        binMs: loadBinMs,
        durationMs,
        count: heatCells,
      });
      const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
      return { name: worker.id, shares, note: noteOf(worker, `${digits(100 * mean)} %`) };
    });
    return heatMap(rows, `${digits(durationMs / 1_000)} s`);
  };
  const used = map(
    ({ usedByBin }) => usedByBin,
    (_, mean) => `${mean} on average`,
  );
  const busy = map(
    ({ busyByBin }) => busyByBin,
    ({ requests }, mean) => `${mean}, ${requests} requests`,
  );
  return (
    card(
      "KV blocks in use",
      "Of each worker, over time: the stronger the colour, the fuller.",
      used,
      "wide",
    ) +
    card(
      "Time in passes",
      "Of each worker, over time: the stronger the colour, the busier.",
      busy,
      "wide",
    )
  );
}

function settingsCard(report: ReplayReport): string {
  const rows: [string, string][] = [
    [
      "trace",
      `${report.trace}, ${report.requests} requests, ${report.refused} refused, ${report.output_tokens} output tokens`,
    ],
    ["policy", policyText(report)],
    ["blocks", `${report.blocks} a worker, of ${report.block_size} tokens`],
    ["speed, seed", `${report.speed}, ${report.seed}`],
    [
      "delays",
      `KV events ${report.event_delay_ms} ms, handoffs at ${report.transfer_gbps} GB/s (0: at once)`,
    ],
    ["digest", report.digest],
  ];
  const body = rows.map(
    ([name, text]) => `<tr><th>${escapeText(name)}</th><td>${escapeText(text)}</td></tr>`,
  );
  return card(
    "Settings",
    "The same settings and seed give the same digest.",
    `<table>${body.join("")}</table>`,
    "wide",
  );
}

function chartCard(title: string, text: string, chart: LineChart): string {
  return card(title, text, legend(chart.series) + lineChart(chart));
}

function card(title: string, text: string, body: string, extra = ""): string {
  return `<section class="card ${extra}"><h2>${escapeText(title)}</h2><p>${escapeText(text)}</p>${body}</section>`;
}
