import { coordinate, escapeText } from "./markup.ts";

/** One row of a heat map: a name, shares of 0 to 1 from left to right, and what stands at the end. */
export interface HeatRow {
  readonly name: string;
  readonly shares: readonly number[];
  readonly note: string;
}

const width = 1_320;
const nameWidth = 120;
const noteWidth = 170;
const rowHeight = 24;
const axisHeight = 26;

/** Rows of cells, the stronger in colour the larger their share, over an axis whose end is `endLabel`. */
export function heatMap(rows: readonly HeatRow[], endLabel: string): string {
  const right = width - noteWidth;
  const height = rows.length * rowHeight;
  const body = rows.map((row, index) => rowOf(row, index * rowHeight, right));
  const axis =
    `<text x="${nameWidth}" y="${height + 18}">0</text>` +
    `<text x="${right}" y="${height + 18}" text-anchor="end">${escapeText(endLabel)}</text>`;
  return `<svg viewBox="0 0 ${width} ${height + axisHeight}" role="img">${body.join("")}${axis}</svg>`;
}

function rowOf({ name, shares, note }: HeatRow, y: number, right: number): string {
  const step = (right - nameWidth) / Math.max(1, shares.length);
  const textY = y + rowHeight / 2 + 4;
  const cells = shares.map((share, index) => {
    const x = coordinate(nameWidth + index * step);
    const percent = Math.round(share * 100);
    return (
      `<rect class="heat" x="${x}" y="${y + 1}" width="${coordinate(step + 0.3)}" height="${rowHeight - 2}" ` +
      `fill-opacity="${(0.06 + 0.94 * share).toFixed(2)}"><title>${escapeText(name)}: ${percent} %</title></rect>`
    );
  });
  return (
    `<text class="name" x="${nameWidth - 10}" y="${textY}" text-anchor="end">${escapeText(name)}</text>` +
    `${cells.join("")}<text class="value" x="${right + 12}" y="${textY}">${escapeText(note)}</text>`
  );
}
