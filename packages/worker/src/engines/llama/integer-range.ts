/** Integers between bounds, digit by digit, as a grammar of llama.cpp writes them. */

/** An expression for the integers from `min` to `max`, which are safe ones. */
export function integersBetween(min: number, max: number): string {
  const parts: string[] = [];
  if (min < 0) parts.push(`"-" (${naturalsBetween(Math.max(1, -max), -min)})`);
  if (max >= 0) parts.push(naturalsBetween(Math.max(0, min), max));
  return parts.join(" | ");
}

/** The same for bounds of at least 0: those of as many digits as `min`, those of as many as `max`, and all between. */
function naturalsBetween(min: number, max: number): string {
  const [least, most] = [String(min), String(max)];
  if (least.length === most.length) return digitsBetween(least, most);
  const parts = [digitsBetween(least, nines(least.length))];
  const between = most.length - least.length - 1;
  if (between > 0) parts.push(`[1-9] [0-9]{${least.length},${most.length - 2}}`);
  parts.push(digitsBetween(`1${zeros(most.length - 1)}`, most));
  return parts.join(" | ");
}

/** The texts of digits from `least` to `most`, which are of one length. */
function digitsBetween(least: string, most: string): string {
  const rest = least.length - 1;
  const [first, last] = [Number(least[0]), Number(most[0])];
  if (rest === 0) return digit(first, last);
  const [low, high] = [least.slice(1), most.slice(1)];
  if (first === last) return `"${first}" (${digitsBetween(low, high)})`;
  // The first digit's own numbers, where they do not all belong, then the last one's; those between belong whole.
  const parts: string[] = [];
  const isLowWhole = low === zeros(rest);
  const isHighWhole = high === nines(rest);
  if (!isLowWhole) parts.push(`"${first}" (${digitsBetween(low, nines(rest))})`);
  const [from, to] = [isLowWhole ? first : first + 1, isHighWhole ? last : last - 1];
  if (from <= to) parts.push(`${digit(from, to)} [0-9]{${rest}}`);
  if (!isHighWhole) parts.push(`"${last}" (${digitsBetween(zeros(rest), high)})`);
  return parts.join(" | ");
}

function digit(from: number, to: number): string {
  return from === to ? `"${from}"` : `[${from}-${to}]`;
}

function zeros(count: number): string {
  return "0".repeat(count);
}

function nines(count: number): string {
  return "9".repeat(count);
}
