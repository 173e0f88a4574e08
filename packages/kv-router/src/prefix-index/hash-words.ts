/**
 * Hot path: a sequence hash is read as two whole numbers of 32 bits, because one number of a JavaScript engine holds only
 * 53 of its 64 bits. Signed ones, since those need no box.
 */

/** The low half of the hash at `at`. */
export function lowWord(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** The high half of the hash at `at`. */
export function highWord(bytes: Uint8Array, at: number): number {
  return lowWord(bytes, at + 4);
}

/** Spreads two words over 32 bits: also words that are hardly random, as those of a foreign engine may be. */
export function mixWords(low: number, high: number): number {
  let mixed = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca77);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x2c1b3c6d);
  mixed ^= mixed >>> 12;
  mixed = Math.imul(mixed, 0x297a2d39);
  return mixed ^ (mixed >>> 15);
}
