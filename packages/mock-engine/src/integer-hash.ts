/** Mixes integers into a well-spread u32; the same on every machine. Not for secrets. */
export function hashIntegers(...values: readonly number[]): number {
  let hash = 0x9e3779b9;
  for (const value of values) {
    hash = mix(hash ^ (value >>> 0));
    hash = mix(hash ^ Math.floor(value / 2 ** 32));
  }
  return hash;
}

/** A number in [0, 1) from integers. */
export function hashToUnit(...values: readonly number[]): number {
  return hashIntegers(...values) / 2 ** 32;
}

function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
