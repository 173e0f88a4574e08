import { coordinate, escapeText } from "./markup.ts";
import { linearScale, logScale, type Scale, type Span } from "./scale.ts";

/** One axis: what its numbers are, and how they are written. */
export interface Axis {
  readonly label: string;
  readonly kind: "linear" | "log";
  readonly format: (value: number) => string;
}

/** One line. `tone` is its colour: the run, the bound, or the baseline. */
export interface Series {
  readonly name: string;
  readonly tone: Tone;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Which of the page's colours: of the run itself, of the pooled bound, of the baseline. */
export type Tone = "run" | "bound" | "baseline";

/** What is drawn. */
export interface LineChart {
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** Points that show their values when they are pointed at. */
  readonly hasMarks: boolean;
}

const size = { width: 640, height: 290 };
const across: Span = { from: 64, to: 606 };
const up: Span = { from: 244, to: 12 };

/** A chart of lines as an SVG that takes the width it is given. */
export function lineChart(chart: LineChart): string {
  const x = scaleOf(chart, 0, across);
  const y = scaleOf(chart, 1, up);
  // The run is drawn last, above what it is compared with.
  const lines = chart.series.toReversed().map((series) => lineOf(chart, series, x, y));
  return `<svg viewBox="0 0 ${size.width} ${size.height}" role="img">${grid(chart, x, y)}${lines.join("")}</svg>`;
}

/** The names of the series beside their colours. */
export function legend(series: readonly Pick<Series, "name" | "tone">[]): string {
  const keys = series.map(
    ({ name, tone }) => `<span><i class="fill-${tone}"></i>${escapeText(name)}</span>`,
  );
  return `<div class="legend">${keys.join("")}</div>`;
}

function scaleOf(chart: LineChart, dimension: 0 | 1, span: Span): Scale {
  const { kind } = dimension === 0 ? chart.x : chart.y;
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const { points } of chart.series) {
    for (const point of points) {
      const value = point[dimension];
      most = Math.max(most, value);
      if (value > 0) least = Math.min(least, value);
    }
  }
  if (kind === "linear") return linearScale(most, span);
  return logScale(Number.isFinite(least) ? least : 1, most > 0 ? most : 10, span);
}

function grid({ x, y }: LineChart, xScale: Scale, yScale: Scale): string {
  const columns = xScale.ticks.map((tick) => {
    const at = coordinate(xScale.at(tick));
    return (
      `<line class="grid" x1="${at}" x2="${at}" y1="${up.to}" y2="${up.from}"/>` +
      `<text x="${at}" y="${up.from + 18}" text-anchor="middle">${escapeText(x.format(tick))}</text>`
    );
  });
  const rows = yScale.ticks.map((tick) => {
    const at = yScale.at(tick);
    return (
      `<line class="grid" x1="${across.from}" x2="${across.to}" y1="${coordinate(at)}" y2="${coordinate(at)}"/>` +
      `<text x="${across.from - 8}" y="${coordinate(at + 4)}" text-anchor="end">${escapeText(y.format(tick))}</text>`
    );
  });
  const middle = (across.from + across.to) / 2;
  const label = `<text class="axis" x="${middle}" y="${size.height - 6}" text-anchor="middle">${escapeText(x.label)}</text>`;
  return columns.join("") + rows.join("") + label;
}

function lineOf(chart: LineChart, series: Series, x: Scale, y: Scale): string {
  const places = series.points.map(
    ([px, py]) => [coordinate(x.at(px)), coordinate(y.at(py))] as const,
  );
  const path = places.map(([px, py], index) => `${index === 0 ? "M" : "L"}${px} ${py}`).join("");
  const line = `<path class="line stroke-${series.tone}" d="${path}"/>`;
  if (!chart.hasMarks) return line;
  const marks = series.points.map(([px, py], index) => {
    const [cx = "", cy = ""] = places[index] ?? [];
    const text = `${series.name}, ${chart.x.format(px)}: ${chart.y.format(py)}`;
    return `<circle class="mark fill-${series.tone}" cx="${cx}" cy="${cy}" r="5"><title>${escapeText(text)}</title></circle>`;
  });
  return line + marks.join("");
}
