import { type Bound, type Growth, growthOf, type Sample } from "./flatness.ts";

const mebibyte = 1024 * 1024;

/**
 * How much an actor may hold more at the end than after the first third. What a garbage collection leaves moves by some
 * hundred kilobytes, with what the engine has compiled; RSS by what the allocator keeps; descriptors of workers by the connections
 * for pulls that are kept for half a minute, as many as came at once.
 */
export const soakBounds: readonly Bound[] = [
  { figure: "heapUsed", most: 2 * mebibyte, share: 0.04 },
  { figure: "heapTotal", most: 16 * mebibyte },
  { figure: "external", most: mebibyte, share: 0.04 },
  { figure: "rss", most: 16 * mebibyte },
  { figure: "timers", most: 1 },
  { figure: "subscriptions", most: 0 },
  { figure: "descriptors", most: 1, share: 0.1 },
];

type SamplesById = ReadonlyMap<string, readonly Sample[]>;

/** Whether no figure of no actor has grown beyond its bound. */
export function isAllFlat(samplesById: SamplesById): boolean {
  return [...samplesById.values()].every((samples) =>
    growthOf(samples, soakBounds).every(({ isFlat }) => isFlat),
  );
}

/** A row for each actor: each figure after the first third, at the end, and what the slope between makes of it. */
export function flatnessTable(samplesById: SamplesById): string {
  const rows = [...samplesById].map(([id, samples]) => {
    const cells = growthOf(samples, soakBounds).map(cell);
    return `| ${id} | ${cells.join(" | ")} |`;
  });
  return [
    "| actor | heap, MB | room for it, MB | buffers, MB | RSS, MB | timers | subscriptions | descriptors |",
    "|---|---|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

function cell({ early, figure, grown, isFlat, late }: Growth): string {
  const isBytes = ["heapUsed", "heapTotal", "external", "rss"].includes(figure);
  const shown = (value: number) => (isBytes ? (value / mebibyte).toFixed(1) : String(value));
  const slope = `${grown < 0 ? "−" : "+"}${shown(Math.abs(Math.round(grown)))}`;
  return `${shown(early)} → ${shown(late)} (${slope})${isFlat ? "" : " **grows**"}`;
}
