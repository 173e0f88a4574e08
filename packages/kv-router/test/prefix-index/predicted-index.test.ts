import { describe, expect, it } from "vitest";
import {
  createOverlaps,
  createPredictedIndex,
  type PredictedIndex,
  type RankSlot,
} from "../../src/index.ts";
import { hashesOf } from "./naive-index.ts";

function predicted(
  index: PredictedIndex,
  rank: RankSlot,
  blocks: readonly number[],
  nowMs: number,
) {
  const overlaps = createOverlaps();
  index.find(hashesOf(blocks), overlaps, nowMs);
  return overlaps.device[rank] ?? 0;
}

/** A prompt of blocks that no other has. */
const longPrompt = (first: number, length: number) =>
  hashesOf(Array.from({ length }, (_, at) => first + at));

describe("predictions that last for a time", () => {
  const create = (ttlMs = 1_000, maxBlocks = 1_000) =>
    createPredictedIndex({ policy: "ttl", ttlMs, maxBlocks });

  it("sees a prompt on the rank that it went to", () => {
    const index = create();
    index.record(3, hashesOf([1, 2, 3]), 0);

    expect(predicted(index, 3, [1, 2, 3, 4], 10)).toBe(3);
    expect(predicted(index, 3, [1, 2, 5], 10)).toBe(2);
    expect(predicted(index, 2, [1, 2, 3], 10)).toBe(0);
    expect(index.size).toBe(3);
  });

  it("forgets it after its time, rounded up to a tenth of a second", () => {
    const index = create();
    index.record(0, hashesOf([1, 2]), 20);

    expect(predicted(index, 0, [1, 2], 1_099)).toBe(2);
    expect(predicted(index, 0, [1, 2], 1_100)).toBe(0);
    expect(index.size).toBe(0);
  });

  it("keeps what a later prompt shares, for the later one's time", () => {
    const index = create();
    index.record(0, hashesOf([1, 2, 3]), 0);
    index.record(0, hashesOf([1, 2, 4]), 600);

    index.sweep(1_000);

    expect(index.size).toBe(3);
    expect(predicted(index, 0, [1, 2, 3], 1_000)).toBe(2);
    expect(predicted(index, 0, [1, 2, 4], 1_599)).toBe(3);
    expect(predicted(index, 0, [1, 2, 4], 1_600)).toBe(0);
  });

  it("goes on from a prompt that is known", () => {
    const index = create();
    index.record(0, hashesOf([1, 2]), 0);
    index.record(0, hashesOf([1, 2, 3]), 0);
    index.record(0, hashesOf([1]), 0);

    expect(predicted(index, 0, [1, 2, 3], 0)).toBe(3);
    expect(index.size).toBe(3);
  });

  it("counts each rank's blocks by themselves", () => {
    const index = create();
    index.record(0, hashesOf([1, 2]), 0);
    index.record(1, hashesOf([1, 2]), 500);

    expect(index.size).toBe(4);
    expect(predicted(index, 0, [1, 2], 1_200)).toBe(0);
    expect(predicted(index, 1, [1, 2], 1_200)).toBe(2);
  });

  it("forgets a rank at once", () => {
    const index = create();
    index.record(0, hashesOf([1, 2]), 0);
    index.record(1, hashesOf([1]), 0);

    index.removeRank(0);

    expect(predicted(index, 0, [1, 2], 0)).toBe(0);
    expect(predicted(index, 1, [1, 2], 0)).toBe(1);
    expect(index.size).toBe(1);
    index.record(0, hashesOf([1]), 0);
    index.sweep(10);
    expect(predicted(index, 0, [1, 2], 10)).toBe(1);
  });

  it("keeps to its limit: first goes what was of use longest ago", () => {
    const index = create(1_000, 10);
    index.record(0, hashesOf([1, 2, 3, 4]), 0);
    index.record(1, hashesOf([5, 6, 7, 8]), 1);
    index.record(0, hashesOf([1]), 2);
    index.record(2, hashesOf([10, 11, 12]), 3);

    expect(index.size).toBe(10);
    expect(predicted(index, 1, [5, 6, 7, 8], 3)).toBe(3);
    expect(predicted(index, 0, [1, 2, 3, 4], 3)).toBe(4);
    index.record(3, longPrompt(100, 50), 4);
    expect(index.size).toBe(10);
    expect(predicted(index, 3, [100, 101], 4)).toBe(2);
  });

  it("does a bounded part of much work at a time", () => {
    const index = create(1_000, 100_000);
    index.record(0, longPrompt(1, 40_000), 0);

    index.sweep(5_000);
    expect(index.size).toBe(40_000 - 16_384);
    index.sweep(5_000);
    index.sweep(5_000);
    expect(index.size).toBe(0);
  });

  it("stays small however many ranks come and go", () => {
    const index = create(1_000, 2_000);
    for (let round = 0; round < 20; round += 1) {
      index.record(round, longPrompt(1 + round * 1_000, 1_000), round);
      index.removeRank(round);
    }
    index.record(99, longPrompt(1, 1_000), 20);

    expect(index.size).toBe(1_000);
    expect(predicted(index, 99, [1, 2, 3], 20)).toBe(3);
  });
});

describe("predictions that last while the rank has room", () => {
  const room = new Map<RankSlot, number | null>([
    [0, 4],
    [1, null],
    [2, 0],
  ]);
  const create = () =>
    createPredictedIndex({
      policy: "lru",
      blocksOf: (rank) => room.get(rank) ?? null,
      maxBlocks: 50,
    });

  it("forgets the ends of the oldest prompts first", () => {
    const index = create();
    index.record(0, hashesOf([1, 2, 3]), 0);
    index.record(0, hashesOf([1, 7, 8]), 0);

    expect(index.size).toBe(4);
    expect(predicted(index, 0, [1, 2, 3], 0)).toBe(2);
    expect(predicted(index, 0, [1, 7, 8], 0)).toBe(3);
  });

  it("keeps a prompt that is asked for again", () => {
    const index = create();
    index.record(0, hashesOf([1, 2]), 0);
    index.record(0, hashesOf([5, 6]), 0);
    index.record(0, hashesOf([1, 2]), 0);
    index.record(0, hashesOf([8]), 0);

    expect(predicted(index, 0, [1, 2], 0)).toBe(2);
    expect(predicted(index, 0, [5, 6], 0)).toBe(1);
  });

  it("has no end in time", () => {
    const index = create();
    index.record(0, hashesOf([1, 2]), 0);
    index.sweep(1e12);

    expect(predicted(index, 0, [1, 2], 1e12)).toBe(2);
  });

  it("keeps as much of a long prompt as fits", () => {
    const index = create();
    index.record(0, hashesOf([1, 2, 3, 4, 5, 6]), 0);

    expect(predicted(index, 0, [1, 2, 3, 4, 5, 6], 0)).toBe(4);
  });

  it("keeps nothing of a rank without room, and to its own limit where the room is not known", () => {
    const index = create();
    index.record(2, hashesOf([1]), 0);
    index.record(1, longPrompt(1, 60), 0);

    expect(predicted(index, 2, [1], 0)).toBe(0);
    expect(index.size).toBe(50);
  });
});
