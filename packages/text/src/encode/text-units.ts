const replacement = 0xfffd;
const unitsPerString = 8192;

/** Copies `text[from, to)` as UTF-16 units to `units` from `target` on; a lone surrogate becomes U+FFFD. */
export function copyUnits(
  text: string,
  from: number,
  to: number,
  units: Uint16Array,
  target: number,
): void {
  const shift = target - from;
  for (let at = from; at < to; at += 1) {
    const unit = text.charCodeAt(at);
    units[at + shift] = (unit & 0xf800) === 0xd800 && isLone(text, at, unit) ? replacement : unit;
  }
}

function isLone(text: string, at: number, unit: number): boolean {
  return unit < 0xdc00
    ? (text.charCodeAt(at + 1) & 0xfc00) !== 0xdc00
    : (text.charCodeAt(at - 1) & 0xfc00) !== 0xd800;
}

/** The text of `units[from, to)`. */
export function textOfUnits(units: Uint16Array, from: number, to: number): string {
  let text = "";
  for (let at = from; at < to; at += unitsPerString) {
    const part: ArrayLike<number> = units.subarray(at, Math.min(at + unitsPerString, to));
    // Seven times as fast as spreading a typed array.
    text += Reflect.apply(String.fromCharCode, undefined, part);
  }
  return text;
}
