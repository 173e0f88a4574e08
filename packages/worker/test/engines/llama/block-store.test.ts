import { describe, expect, it } from "vitest";
import { BlockStore } from "../../../src/engines/llama/block-store.ts";
import { KvHoldings } from "../../../src/engines/llama/kv-holdings.ts";
import { chainOfBlocks } from "./chains.ts";

function storeOf(capacity: number): BlockStore {
  return new BlockStore(capacity, new KvHoldings());
}

const bytes = new Uint8Array(8);

function putAll(store: BlockStore, chain: ReturnType<typeof chainOfBlocks>) {
  return chain.blocks.map((block) => store.put(block, bytes));
}

describe("BlockStore", () => {
  it("finds the leading blocks of a chain", () => {
    const store = storeOf(10);
    putAll(store, chainOfBlocks(10, 20, 30));
    expect(store.findPrefix(chainOfBlocks(10, 20, 40), 9)).toHaveLength(2);
    expect(store.findPrefix(chainOfBlocks(10, 20, 30), 1)).toHaveLength(1);
    expect(store.findPrefix(chainOfBlocks(11), 9)).toEqual([]);
  });

  it("evicts leaves of the chain that was unused the longest", () => {
    const store = storeOf(4);
    const [old, recent] = [chainOfBlocks(10, 20), chainOfBlocks(50, 60)];
    putAll(store, old);
    putAll(store, recent);
    putAll(store, chainOfBlocks(80));
    expect(store.findPrefix(old, 9)).toHaveLength(1);
    putAll(store, chainOfBlocks(80, 90));
    expect(store.findPrefix(old, 9)).toHaveLength(0);
    expect(store.findPrefix(recent, 9)).toHaveLength(2);
    expect(store.size).toBe(4);
  });

  it("counts unpinning as use", () => {
    const store = storeOf(2);
    const first = putAll(store, chainOfBlocks(10));
    putAll(store, chainOfBlocks(20));
    store.pin(first);
    store.unpin(first);
    putAll(store, chainOfBlocks(30));
    expect(store.find(chainOfBlocks(10).blocks[0]!)).toBeDefined();
    expect(store.find(chainOfBlocks(20).blocks[0]!)).toBeUndefined();
  });

  it("never evicts what is pinned; a block that finds no room stays outside", () => {
    const store = storeOf(2);
    const pinned = putAll(store, chainOfBlocks(10, 20));
    store.pin(pinned);
    const [outside] = putAll(store, chainOfBlocks(30));
    expect(outside?.bytes).toBe(bytes);
    expect(store.find(chainOfBlocks(30).blocks[0]!)).toBeUndefined();
    store.pin([outside!]);
    expect([...store.pinnedBlocks()]).toEqual(pinned);
    store.unpin(pinned);
    store.unpin([outside!]);
    expect([...store.pinnedBlocks()]).toEqual([]);
    putAll(store, chainOfBlocks(30));
    expect(store.find(chainOfBlocks(30).blocks[0]!)).toBeDefined();
  });

  it("keeps a block whose parent is absent outside, and never evicts a new block's parent", () => {
    const store = storeOf(1);
    const { blocks } = chainOfBlocks(10, 20);
    store.put(blocks[1]!, bytes);
    expect(store.size).toBe(0);
    store.put(blocks[0]!, bytes);
    store.put(blocks[1]!, bytes);
    expect(store.findPrefix(chainOfBlocks(10, 20), 9)).toHaveLength(1);
  });

  it("does not take a colliding hash for the same block", () => {
    const store = storeOf(5);
    const block = chainOfBlocks(10).blocks[0]!;
    store.put(block, bytes);
    const other = { ...block, tokens: Uint32Array.from([9, 9, 9, 9]) };
    const otherBytes = new Uint8Array(8).fill(7);
    expect(store.find(other)).toBeUndefined();
    const outside = store.put(other, otherBytes);
    expect(outside.bytes).toBe(otherBytes);
    store.pin([outside]);
    expect([...store.pinnedBlocks()]).toEqual([]);
    expect(store.find(block)?.bytes).toBe(bytes);
  });

  it("promises no more than it can hold", () => {
    const store = storeOf(5);
    expect(store.tryReserve(3)).toBe(true);
    expect(store.tryReserve(3)).toBe(false);
    expect(store.tryReserve(2)).toBe(true);
    store.unreserve(3);
    expect(store.tryReserve(3)).toBe(true);
  });
});
