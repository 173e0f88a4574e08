/** The UTF-8 bytes of a text; a lone surrogate becomes U+FFFD. */
export function encodeUtf8(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 3);
  let length = 0;
  for (const character of text) {
    length = writeUtf8(bytes, length, character.codePointAt(0)!);
  }
  return bytes.slice(0, length);
}

/** Writes one code point as UTF-8 at `at` and returns where it ends. A surrogate becomes U+FFFD. */
export function writeUtf8(bytes: Uint8Array, at: number, codePoint: number): number {
  if (codePoint < 0x80) {
    bytes[at] = codePoint;
    return at + 1;
  }
  if (codePoint < 0x800) {
    bytes[at] = 0xc0 | (codePoint >> 6);
    bytes[at + 1] = 0x80 | (codePoint & 0x3f);
    return at + 2;
  }
  if (codePoint < 0x10000) {
    const scalar = (codePoint & 0xf800) === 0xd800 ? 0xfffd : codePoint;
    bytes[at] = 0xe0 | (scalar >> 12);
    bytes[at + 1] = 0x80 | ((scalar >> 6) & 0x3f);
    bytes[at + 2] = 0x80 | (scalar & 0x3f);
    return at + 3;
  }
  bytes[at] = 0xf0 | (codePoint >> 18);
  bytes[at + 1] = 0x80 | ((codePoint >> 12) & 0x3f);
  bytes[at + 2] = 0x80 | ((codePoint >> 6) & 0x3f);
  bytes[at + 3] = 0x80 | (codePoint & 0x3f);
  return at + 4;
}

/** How many bytes well-formed UTF-16 takes as UTF-8: `units[from, to)`. */
export function utf8Length(units: Uint16Array, from: number, to: number): number {
  let length = 0;
  for (let at = from; at < to; at += 1) {
    const unit = units[at]!;
    // Each half of a surrogate pair stands for two of its four bytes.
    length += unit < 0x80 ? 1 : unit < 0x800 || (unit & 0xf800) === 0xd800 ? 2 : 3;
  }
  return length;
}
