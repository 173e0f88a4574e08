/** Values along an axis, and where they lie. */
export interface Scale {
  readonly ticks: readonly number[];
  at(value: number): number;
}

/** Where an axis begins and ends in the picture. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** An even scale from 0 to at least `most`, with about `count` round ticks. */
export function linearScale(most: number, span: Span, count = 5): Scale {
  const step = roundStep((most > 0 ? most : 1) / count);
  const steps = Math.max(1, Math.ceil((most > 0 ? most : 1) / step - 1e-9));
  const end = step * steps;
  return {
    ticks: Array.from({ length: steps + 1 }, (_, index) => step * index),
    at: (value) => span.from + ((span.to - span.from) * Math.min(value, end)) / end,
  };
}

/** A scale by powers of ten around `least` and `most`, which are above 0; what lies beyond is drawn at its ends. */
export function logScale(least: number, most: number, span: Span): Scale {
  const low = Math.floor(Math.log10(least));
  const high = Math.max(low + 1, Math.ceil(Math.log10(most)));
  const factors = high - low <= 2 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let power = low; power < high; power++) {
    for (const factor of factors) ticks.push(factor * 10 ** power);
  }
  ticks.push(10 ** high);
  const share = (value: number) => (Math.log10(value) - low) / (high - low);
  const at = (value: number) =>
    value <= 0 ? span.from : span.from + (span.to - span.from) * clamp(share(value));
  return { ticks, at };
}

/** The largest of 1, 2 and 5 times a power of ten that is not above `step` by more than it must. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= step - 1e-12) ?? 10;
  return factor * power;
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}
