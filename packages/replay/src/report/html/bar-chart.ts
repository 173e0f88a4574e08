import type { Tone } from "./line-chart.ts";
import { coordinate, escapeText } from "./markup.ts";

/** One bar with its name and value. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly tone: Tone | "limit";
}

const width = 640;
const nameWidth = 130;
const valueWidth = 90;
const rowHeight = 34;
const barHeight = 18;

/** Bars that lie, one below the other, with their values at their ends. */
export function barChart(bars: readonly Bar[], format: (value: number) => string): string {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const room = width - nameWidth - valueWidth;
  const rows = bars.map(({ name, value, tone }, index) => {
    const y = index * rowHeight + (rowHeight - barHeight) / 2;
    const length = Math.max(2, (room * value) / most);
    const textY = coordinate(y + barHeight - 4);
    return (
      `<text class="name" x="${nameWidth - 10}" y="${textY}" text-anchor="end">${escapeText(name)}</text>` +
      `<rect class="fill-${tone}" x="${nameWidth}" y="${coordinate(y)}" width="${coordinate(length)}" height="${barHeight}" rx="3"/>` +
      `<text class="value" x="${coordinate(nameWidth + length + 8)}" y="${textY}">${escapeText(format(value))}</text>`
    );
  });
  return `<svg viewBox="0 0 ${width} ${bars.length * rowHeight}" role="img">${rows.join("")}</svg>`;
}
