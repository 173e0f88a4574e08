import type { Overlaps } from "./prefix-index.ts";

/** Makes the arrays hold `length` slots, all of them zero. */
export function resetOverlaps(overlaps: Overlaps, length: number): void {
  if (overlaps.device.length < length) {
    const size = Math.max(16, 2 ** Math.ceil(Math.log2(length)));
    overlaps.device = new Uint32Array(size);
    overlaps.host = new Uint32Array(size);
    overlaps.disk = new Uint32Array(size);
  }
  // Up to the former length too, so that a slot beyond the new one holds none.
  const used = Math.max(length, overlaps.length);
  overlaps.device.fill(0, 0, used);
  overlaps.host.fill(0, 0, used);
  overlaps.disk.fill(0, 0, used);
  overlaps.length = length;
}

/**
 * Credits a rank with the blocks from `start` to `end` of a prompt, which it holds on a tier (0 device, 1 host, 2 disk), if
 * they go on where what it was credited with ends. Blocks come in the order of the prompt, and the tiers of a block from
 * fast to slow. Returns whether they did go on.
 */
export function extendOverlap(
  overlaps: Overlaps,
  slot: number,
  tier: number,
  start: number,
  end: number,
): boolean {
  const host = overlaps.host[slot]!;
  const disk = overlaps.disk[slot]!;
  if (overlaps.device[slot]! + host + disk !== start) return false;
  // Where a slower tier has gone on, a faster one does no more.
  if (tier === 0 && host + disk > 0) return false;
  if (tier === 1 && disk > 0) return false;
  if (tier === 0) overlaps.device[slot] = end;
  else if (tier === 1) overlaps.host[slot] = host + end - start;
  else overlaps.disk[slot] = disk + end - start;
  return true;
}
