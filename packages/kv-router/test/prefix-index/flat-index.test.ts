import { describe, expect, it, vi } from "vitest";
import {
  createFlatIndex,
  createOverlaps,
  type PrefixIndex,
  type RankSlot,
} from "../../src/index.ts";
import { BlockTable } from "../../src/prefix-index/block-table.ts";
import { finish, hashesOf } from "./naive-index.ts";
import { prefixIndexContract } from "./prefix-index-contract.ts";

prefixIndexContract("flat index", () => createFlatIndex());

const overlaps = createOverlaps();

function onDevice(index: PrefixIndex, rank: RankSlot, prompt: Uint8Array): number {
  index.find(prompt, overlaps);
  return overlaps.device[rank] ?? 0;
}

/** A prompt of blocks that no prompt with another first block has. */
const promptFrom = (first: number, length: number) =>
  hashesOf(Array.from({ length }, (_, at) => first + at));

it("frees a long prompt block by block, not all of it with its last one, whichever job came before", () => {
  const index = createFlatIndex();
  index.store(0, "device", null, promptFrom(1, 3_000));
  index.store(1, "device", null, promptFrom(10_000, 20_000));
  finish(index.removeRank(0));
  const freed = vi.spyOn(BlockTable.prototype, "delete");
  const job = index.removeRank(1);
  let most = 0;
  for (let before = 0, isDone = false; !isDone; before = freed.mock.calls.length) {
    isDone = job.step(512);
    most = Math.max(most, freed.mock.calls.length - before);
  }
  freed.mockRestore();

  expect(index.blocks).toBe(0);
  expect(most).toBeLessThanOrEqual(512);
});

describe("a full flat index", () => {
  it("keeps what is asked for and gives up what is not", () => {
    const index = createFlatIndex({ maxBlocks: 1_000 });
    const hot = promptFrom(1, 200);
    index.store(0, "device", null, hot);

    for (let round = 1; round <= 100; round += 1) {
      expect(index.store(1, "device", null, promptFrom(round * 1_000, 50))).toBe("stored");
      expect(onDevice(index, 0, hot)).toBe(200);
    }

    expect(index.blocks).toBe(1_000);
    expect(onDevice(index, 1, promptFrom(100_000, 50))).toBe(50);
    expect(onDevice(index, 1, promptFrom(1_000, 50))).toBe(0);
  });

  it("keeps the start that prompts share longer than their ends", () => {
    const index = createFlatIndex({ maxBlocks: 500 });
    const system = promptFrom(1, 100);
    index.store(0, "device", null, system);

    for (let round = 1; round <= 50; round += 1) {
      index.find(new Uint8Array([...system, ...promptFrom(round * 1_000, 50)]), overlaps);
      index.store(0, "device", system.subarray(-8), promptFrom(round * 1_000, 50));
    }

    expect(onDevice(index, 0, system)).toBe(100);
  });

  it("says dropped, not orphan, under what it gave up, to the ranks that had it only", () => {
    const index = createFlatIndex({ maxBlocks: 4 });
    index.store(0, "device", null, hashesOf([1, 2]));
    index.store(1, "device", null, hashesOf([11, 12, 13]));

    expect(index.store(0, "device", hashesOf([2]), hashesOf([3]))).toBe("dropped");
    expect(index.store(1, "device", hashesOf([77]), hashesOf([78]))).toBe("orphan");
    expect(index.store(2, "device", hashesOf([2]), hashesOf([3]))).toBe("orphan");
    expect(onDevice(index, 0, hashesOf([1, 2]))).toBe(1);
  });

  it("says dropped under what it did not take in", () => {
    const index = createFlatIndex({ maxBlocks: 3 });

    expect(index.store(0, "device", null, promptFrom(1, 5))).toBe("dropped");
    expect(onDevice(index, 0, promptFrom(1, 5))).toBe(3);
    expect(index.store(0, "device", hashesOf([5]), hashesOf([6]))).toBe("dropped");
    expect(index.store(0, "device", hashesOf([3]), hashesOf([4]))).toBe("dropped");
  });

  it("can tell orphans again when a rank begins anew", () => {
    const index = createFlatIndex({ maxBlocks: 3 });
    index.store(0, "device", null, promptFrom(1, 5));
    index.store(1, "device", null, promptFrom(1, 5));
    finish(index.clearRank(0));
    const load = index.loadRank(1);
    load.store("device", null, hashesOf([1]));
    finish(load.commit());

    for (const rank of [0, 1]) {
      expect(index.store(rank, "device", hashesOf([9]), hashesOf([10]))).toBe("orphan");
    }
  });

  it("takes in again what it gave up", () => {
    const index = createFlatIndex({ maxBlocks: 10 });
    for (const first of [1, 100, 200, 1]) index.store(0, "device", null, promptFrom(first, 8));

    expect(onDevice(index, 0, promptFrom(1, 8))).toBe(8);
  });

  it("forgets copies of what it gave up", () => {
    const index = createFlatIndex({ maxBlocks: 2 });
    index.store(0, "device", null, hashesOf([1]));
    index.store(0, "device", null, hashesOf([1]));
    index.store(0, "device", null, hashesOf([8, 9]));
    index.store(0, "device", null, hashesOf([1]));

    expect(index.remove(0, "device", hashesOf([1, 1]))).toBe(1);
  });

  it("takes in nothing if it has no room at all", () => {
    const index = createFlatIndex({ maxBlocks: 0 });

    expect(index.store(0, "device", null, hashesOf([1]))).toBe("dropped");
    expect(index.blocks).toBe(0);
  });
});

describe("a large flat index", () => {
  it("takes 45 bytes a block or less at 16 ranks", () => {
    const index = createFlatIndex();
    for (let prompt = 0; prompt < 800; prompt += 1) {
      const hashes = promptFrom(1 + prompt * 128, 128);
      index.store(prompt % 16, "device", null, hashes);
      if (prompt % 3 === 0) index.store((prompt * 7) % 16, "device", null, hashes.subarray(0, 512));
    }

    expect(index.blocks).toBe(800 * 128);
    expect(index.bytes / index.blocks).toBeLessThanOrEqual(45);
  });

  it("keeps a thousand ranks apart", () => {
    const index = createFlatIndex();
    const prompt = promptFrom(1, 100);
    for (let rank = 0; rank < 1_000; rank += 1) {
      index.store(rank, "device", null, prompt.subarray(0, 8 * (1 + (rank % 100))));
    }

    index.find(prompt, overlaps);

    const expected = Array.from({ length: 1_000 }, (_, rank) => 1 + (rank % 100));
    expect([...overlaps.device.subarray(0, 1_000)]).toEqual(expected);
    expect(index.bytes).toBeLessThan(2_000_000);
  });

  it("does the work of many jobs in one round", () => {
    const index = createFlatIndex();
    for (let rank = 0; rank < 100; rank += 1) {
      index.store(rank, "device", null, promptFrom(1 + rank * 100, 100));
    }
    const jobs = Array.from({ length: 100 }, (_, rank) => index.removeRank(rank));

    expect(jobs[0]?.step(10_000)).toBe(true);
    for (const job of jobs.slice(1)) job.step(10_000);

    expect(index.blocks).toBe(0);
    expect(jobs.every((job) => job.step(0))).toBe(true);
  });

  it("uses the room of removed blocks again", () => {
    const index = createFlatIndex();
    index.store(0, "device", null, promptFrom(1, 5_000));
    const { bytes } = index;
    for (let round = 1; round <= 10; round += 1) {
      finish(index.clearRank(0), 10_000);
      index.store(0, "device", null, promptFrom(round * 10_000, 5_000));
    }

    expect(index.bytes).toBeLessThanOrEqual(bytes * 1.1);
  });
});
