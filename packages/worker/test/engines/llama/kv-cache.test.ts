import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SeededRandom } from "@baton/runtime";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BlockChain } from "../../../src/engines/llama/block-chain.ts";
import { BlockStore } from "../../../src/engines/llama/block-store.ts";
import { KvCache } from "../../../src/engines/llama/kv-cache.ts";
import { KvHoldings } from "../../../src/engines/llama/kv-holdings.ts";
import { SlotTable } from "../../../src/engines/llama/slot-table.ts";
import { StateDir } from "../../../src/engines/llama/state-dir.ts";
import { parseStateBytes } from "../../../src/engines/llama/state-layout.ts";
import { chainOf, chainOfBlocks } from "./chains.ts";
import { writeSyntheticState } from "./synthetic-state.ts";

let base = "";

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "baton-cache-"));
});

afterEach(async () => {
  await rm(base, { recursive: true });
});

function stateOf(tokens: readonly number[], streamCount = 1): Uint8Array {
  const sizes = { layerCount: 2, keyRowBytes: 6, valueRowBytes: 4 };
  return writeSyntheticState({ tokens, streamCount, streamIndex: 0, ...sizes });
}

/** A child whose sequences hold whatever it is told; a state's rows depend on the token's place only. */
async function setUp(capacity = 100) {
  const held = new Map<number, number[]>();
  const calls: string[] = [];
  const client = {
    save: async (slot: number, path: string) => {
      calls.push(`save ${slot}`);
      if (!held.has(slot)) throw new Error("cannot save");
      await writeFile(path, stateOf(held.get(slot) ?? []));
    },
    restore: async (slot: number, path: string, tokens: number) => {
      calls.push(`restore ${slot}`);
      const bytes = await readFile(path);
      expect(Buffer.compare(bytes, stateOf([...parseStateBytes(bytes).tokens], 3))).toBe(0);
      held.set(slot, [...parseStateBytes(bytes).tokens]);
      expect(held.get(slot)).toHaveLength(tokens);
    },
  };
  const holdings = new KvHoldings();
  const store = new BlockStore(capacity, holdings);
  const slots = new SlotTable(2, holdings);
  const dir = await StateDir.create(new SeededRandom(1), 0, base);
  const { shape } = parseStateBytes(stateOf([1]));
  const cache = new KvCache({ client, store, slots, dir, shape, streamCount: 3 });
  const fill = (index: number, chain: BlockChain, tokens = chain.length) => {
    held.set(index, [...chain.tokens(tokens)]);
    slots.slots[index]!.assign(chain, 0);
    slots.slots[index]!.setHeld(tokens);
    return slots.slots[index]!;
  };
  const stage = async (chain: BlockChain, tokens = chain.length) => {
    const path = dir.newFile();
    await writeFile(path, stateOf([...chain.tokens(tokens)]));
    const kv = await cache.stage(path, chain, tokens);
    await dir.discard(path);
    return kv;
  };
  return { cache, store, slots: slots.slots, table: slots, calls, fill, stage, held, dir };
}

describe("KvCache", () => {
  it("cuts a prompt into pinned blocks of the store and a tail, of blocks only what is new", async () => {
    const { store, stage, cache } = await setUp();
    const first = await stage(chainOf([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
    expect(first.blocks).toHaveLength(2);
    expect(first.tail).toHaveLength(2 * cache.bytesPerToken);
    expect([...store.pinnedBlocks()]).toHaveLength(2);
    const second = await stage(chainOf([1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14]));
    expect(second.blocks[1]).toBe(first.blocks[1]);
    expect(second.blocks).toHaveLength(3);
    expect(second.tail).toBeUndefined();
  });

  it("leaves out a block that only the first output token completed", async () => {
    const { stage } = await setUp();
    const kv = await stage(chainOf([1, 2, 3, 4, 5, 6, 7, 8]), 7);
    expect(kv.blocks).toHaveLength(1);
    expect(kv.tail).toBeDefined();
  });

  it("refuses a saved state of another length, and pins nothing then", async () => {
    const { store, cache, dir } = await setUp();
    const path = dir.newFile();
    await writeFile(path, stateOf([1, 2, 3, 4, 5]));
    const chain = chainOf([1, 2, 3, 4, 5, 6]);
    await expect(cache.stage(path, chain, 6)).rejects.toThrow("5 of 6 tokens");
    expect([...store.pinnedBlocks()]).toEqual([]);
  });

  it("keeps a live prefix, but always leaves a token to compute", async () => {
    const { cache, fill, calls } = await setUp();
    const slot = fill(0, chainOfBlocks(10, 20));
    expect(await cache.loadPrefix(slot, chainOfBlocks(10, 20))).toBe(4);
    expect(slot.held).toBe(4);
    // The second block is lost with it, so it was saved first.
    expect(calls).toEqual(["save 0"]);
    expect(await cache.loadPrefix(slot, chainOfBlocks(99))).toBe(0);
  });

  it("loads a longer prefix from the store", async () => {
    const { cache, stage, slots, calls, dir } = await setUp();
    await stage(chainOfBlocks(10, 20, 30));
    const chain = chainOfBlocks(10, 20, 40);
    const slot = cache.pickFor(chain)!;
    expect(await cache.loadPrefix(slot, chain)).toBe(8);
    expect(calls).toEqual([`restore ${slot.index}`]);
    expect(slot.heldBlocks).toBe(2);
    expect(slots).toContain(slot);
    expect(await readdir(dir.path)).toEqual([]);
  });

  it("picks the sequence that holds most of the prompt, unless the store holds more", async () => {
    const { cache, stage, fill } = await setUp();
    const live = fill(1, chainOfBlocks(10, 20, 30));
    const prompt = chainOfBlocks(10, 20, 30, 40, 50);
    expect(cache.pickFor(prompt)).toBe(live);
    await stage(chainOfBlocks(10, 20, 30, 40));
    expect(cache.pickFor(prompt)).not.toBe(live);
  });

  it("saves what only the sequence holds before it is lost", async () => {
    const { cache, fill, store } = await setUp();
    const slot = fill(0, chainOfBlocks(10, 20, 30));
    await cache.loadPrefix(slot, chainOfBlocks(10, 77));
    expect(store.findPrefix(chainOfBlocks(10, 20, 30), 9)).toHaveLength(3);
    expect(slot.held).toBe(4);
  });

  it("does not save what the store has already, or what is kept", async () => {
    const { cache, fill, stage, calls } = await setUp();
    await stage(chainOfBlocks(10, 20));
    const slot = fill(0, chainOfBlocks(10, 20), 7);
    await cache.loadPrefix(slot, chainOfBlocks(88));
    const other = fill(1, chainOfBlocks(60, 70));
    await cache.loadPrefix(other, chainOfBlocks(60, 70, 80));
    expect(calls).toEqual([]);
  });

  it("brings what an idle sequence holds of an import into the store", async () => {
    const { cache, fill, store, table, slots } = await setUp();
    fill(0, chainOfBlocks(10, 20, 30));
    const own = slots[1]!;
    table.take(own);
    await cache.spillFor(chainOfBlocks(10, 20, 40), own);
    expect(store.findPrefix(chainOfBlocks(10, 20, 40), 9)).toHaveLength(2);
    expect(slots[0]?.busy).toBe(false);
    const mine = fill(1, chainOfBlocks(50, 60));
    await cache.spillFor(chainOfBlocks(50, 61), mine);
    expect(store.findPrefix(chainOfBlocks(50), 9)).toHaveLength(1);
  });

  it("takes a sequence for empty whose save failed", async () => {
    const { cache, fill, held } = await setUp();
    const slot = fill(0, chainOfBlocks(10, 20));
    held.delete(0);
    await expect(cache.loadPrefix(slot, chainOfBlocks(99))).rejects.toThrow("cannot save");
    expect(slot.held).toBe(0);
  });

  it("joins blocks and tail for the streams of this context", async () => {
    const { cache, stage, slots, held } = await setUp();
    const chain = chainOf([1, 2, 3, 4, 5, 6]);
    await cache.restore(slots[0]!, chain, 6, await stage(chain));
    expect(held.get(0)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(slots[0]?.held).toBe(6);
  });
});
