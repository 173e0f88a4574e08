import type { KvEvent, KvTier } from "@baton/protocol";
import { type FakeSource, hash, tiers } from "./kv-world.ts";

/** Blocks 1 to 15 are a binary tree: the parent of a block is half of it, and block 1 begins a prompt. */
export const treeBlocks = 15;

function parentOf(block: number): Uint8Array | null {
  return block === 1 ? null : hash(block >> 1);
}

function holdsAny(source: FakeSource, block: number): boolean {
  return tiers.some((tier) => source.holds(block, tier));
}

/** What a worker says that stores a block on a tier: first the blocks before it that it does not hold anywhere. */
export function grow(source: FakeSource, block: number, tier: KvTier): KvEvent[] {
  const missing: number[] = [];
  for (let at = block >> 1; at > 0 && !holdsAny(source, at); at >>= 1) missing.unshift(at);
  const events = missing.map((at) => storedOn(at, "device"));
  if (!source.holds(block, tier)) events.push(storedOn(block, tier));
  return events;
}

/** What a worker says that evicts a block and all behind it, children first. */
export function shrink(source: FakeSource, block: number): KvEvent[] {
  const below: number[] = [];
  for (let level = [block]; level.length > 0; ) {
    below.unshift(...level);
    level = level.flatMap((at) => [2 * at, 2 * at + 1]).filter((at) => at <= treeBlocks);
  }
  return tiers.flatMap((tier) => {
    const held = below.filter((at) => source.holds(at, tier));
    if (held.length === 0) return [];
    const sequenceHashes = new Uint8Array(held.flatMap((at) => [...hash(at)]));
    const named = tier === "device" ? {} : { tier };
    return [{ kind: "removed" as const, sequenceHashes, ...named }];
  });
}

function storedOn(block: number, tier: KvTier): KvEvent {
  const own = hash(block);
  const named = tier === "device" ? {} : { tier };
  const parent = parentOf(block);
  return { kind: "stored", parent, blockHashes: own, sequenceHashes: own, ...named };
}
