import type { Overlaps } from "./prefix-index.ts";

/** Makes the arrays hold `length` slots at least, and keeps what they say. */
export function growOverlaps(overlaps: Overlaps, length: number): void {
  if (overlaps.length >= length) return;
  const { device, host, disk, length: used } = overlaps;
  if (device.length < length) {
    allocate(overlaps, length);
    overlaps.device.set(device.subarray(0, used));
    overlaps.host.set(host.subarray(0, used));
    overlaps.disk.set(disk.subarray(0, used));
  } else {
    clear(overlaps, used, length);
  }
  overlaps.length = length;
}

/** Makes the arrays hold `length` slots, all of them zero. */
export function resetOverlaps(overlaps: Overlaps, length: number): void {
  if (overlaps.device.length < length) allocate(overlaps, length);
  // Up to the former length too, so that a slot beyond the new one holds none.
  else clear(overlaps, 0, Math.max(length, overlaps.length));
  overlaps.length = length;
}

function allocate(overlaps: Overlaps, length: number): void {
  const size = Math.max(16, 2 ** Math.ceil(Math.log2(length)));
  overlaps.device = new Uint32Array(size);
  overlaps.host = new Uint32Array(size);
  overlaps.disk = new Uint32Array(size);
}

function clear(overlaps: Overlaps, from: number, to: number): void {
  overlaps.device.fill(0, from, to);
  overlaps.host.fill(0, from, to);
  overlaps.disk.fill(0, from, to);
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
