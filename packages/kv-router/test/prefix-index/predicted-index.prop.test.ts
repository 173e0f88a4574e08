import fc from "fast-check";
import { expect, it } from "vitest";
import {
  createOverlaps,
  createPredictedIndex,
  type PredictedIndexOptions,
} from "../../src/index.ts";
import { hashesOf } from "./naive-index.ts";

const ranks = 3;
const lastBlock = 40;

/** The prompt that ends with a block, in a tree with forks. */
function promptTo(block: number): number[] {
  const prompt: number[] = [];
  for (let at = block; at > 0; at = at <= 2 ? 0 : Math.floor((at * 2) / 3)) prompt.unshift(at);
  return prompt;
}

const prompts = Array.from({ length: lastBlock }, (_, at) => promptTo(at + 1));

/** Per rank its blocks in order of use, the oldest first, with their ends. */
class Model {
  readonly ranks = Array.from({ length: ranks }, () => new Map<number, number>());

  record(rank: number, prompt: readonly number[], end: number, room: number): void {
    const held = this.ranks[rank]!;
    for (const block of prompt.slice(0, room).toReversed()) {
      held.delete(block);
      held.set(block, end);
    }
    for (const block of held.keys()) if (held.size > room) held.delete(block);
  }

  expire(nowMs: number): void {
    for (const held of this.ranks) {
      for (const [block, end] of held) if (end <= nowMs) held.delete(block);
    }
  }

  scores(prompt: readonly number[]): number[] {
    return this.ranks.map((held) => {
      const end = prompt.findIndex((block) => !held.has(block));
      return end === -1 ? prompt.length : end;
    });
  }
}

const step = fc.record({
  kind: fc.constantFrom("record", "record", "record", "record", "sweep", "remove"),
  rank: fc.nat({ max: ranks - 1 }),
  block: fc.integer({ min: 1, max: lastBlock }),
  waitMs: fc.nat({ max: 120 }),
});

const policies: readonly (readonly [string, PredictedIndexOptions, number])[] = [
  ["for a time", { policy: "ttl", ttlMs: 350 }, Number.POSITIVE_INFINITY],
  ["while the rank has room", { policy: "lru", blocksOf: () => 9 }, 9],
];

it.each(policies)("predicts %s what a plain model does", (_, options, room) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
      const index = createPredictedIndex(options);
      const model = new Model();
      const overlaps = createOverlaps();
      let nowMs = 1_003;
      for (const { kind, rank, block, waitMs } of steps) {
        nowMs += waitMs;
        model.expire(nowMs);
        if (kind === "record") {
          const end =
            options.policy === "ttl"
              ? Math.ceil((nowMs + options.ttlMs) / 100) * 100
              : Number.POSITIVE_INFINITY;
          index.sweep(nowMs);
          index.record(rank, hashesOf(promptTo(block)), nowMs);
          model.record(rank, promptTo(block), end, room);
        } else if (kind === "sweep") {
          index.sweep(nowMs);
        } else {
          index.removeRank(rank);
          model.ranks[rank]!.clear();
        }
        for (const prompt of prompts) {
          index.find(hashesOf(prompt), overlaps, nowMs);
          const found = model.ranks.map((__, slot) => overlaps.device[slot] ?? 0);
          const expected = model.scores(prompt);
          if (found.join() !== expected.join())
            expect({ prompt, found }).toEqual({ prompt, found: expected });
        }
        expect(index.size).toBe(model.ranks.reduce((sum, held) => sum + held.size, 0));
      }
    }),
    { numRuns: 60 },
  );
});
