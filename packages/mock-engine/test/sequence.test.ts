import { describe, expect, it } from "vitest";
import { BlockPool } from "../src/block-pool.ts";
import type { EngineRequest } from "../src/index.ts";
import {
  adoptPrefix,
  commitComplete,
  coverTokens,
  hashPrompt,
  matchPrefix,
  nextSequencePhases,
  releaseKv,
  Sequence,
  type SequencePhase,
} from "../src/sequence.ts";
import { requestOf, tokensFrom } from "./support/builders.ts";
import { groupOf } from "./support/sequences.ts";
import { testHasher } from "./support/test-hasher.ts";

function poolOf(blockCount: number): BlockPool {
  return new BlockPool({ blockCount, blockSize: 4, prefixCaching: true });
}

function sequenceOf(request: EngineRequest = requestOf()): Sequence<EngineRequest> {
  const sequence = new Sequence(groupOf(request, "generate"), 0, "waiting");
  hashPrompt(sequence, 4, testHasher);
  return sequence;
}

/** Computes the whole prompt and offers its blocks. */
function compute(sequence: Sequence<EngineRequest>, pool: BlockPool): void {
  expect(coverTokens(sequence, pool, sequence.known)).toBe(true);
  sequence.computed = sequence.known;
  commitComplete(sequence, pool, testHasher);
}

describe("phases", () => {
  it("are reached from the listed ones only", () => {
    const phases = Object.keys(nextSequencePhases) as SequencePhase[];
    for (const from of phases) {
      for (const to of phases) {
        const sequence = sequenceOf();
        sequence.phase = from;
        if (nextSequencePhases[from].includes(to)) sequence.moveTo(to);
        else expect(() => sequence.moveTo(to)).toThrow(`from ${from} to ${to}`);
      }
    }
  });

  it("all come to an end, which is final", () => {
    const { ended, ...others } = nextSequencePhases;
    expect(ended).toEqual([]);
    expect(Object.values(others).every((next) => next.includes("ended"))).toBe(true);
  });
});

describe("a sequence", () => {
  it("keeps its tokens while it outgrows what it set aside", () => {
    const sequence = sequenceOf(requestOf({ rules: { maxTokens: 1000 } }));
    for (let i = 0; i < 1000; i++) sequence.append(i);

    expect(sequence.tokens.subarray(0, 10)).toEqual(tokensFrom(0, 10));
    expect(sequence.tokens.subarray(10, sequence.known)).toEqual(tokensFrom(0, 1000));
  });

  it("stands for all choices, or for its own once forked; a prefill for the prompt only", () => {
    const request = requestOf({ plans: [{ next: () => 1 }, { next: () => 2 }] });
    const whole = new Sequence(groupOf(request, "generate"), 0, "waiting");
    expect(whole.slots).toBe(2);
    expect(new Sequence(whole.group, 1, "running", whole).slots).toBe(1);
    expect(new Sequence(groupOf(request, "prefill"), 0, "waiting").slots).toBe(1);
  });
});

describe("blocks of a sequence", () => {
  it("match what is cached, counting those that are active", () => {
    const pool = poolOf(8);
    const first = sequenceOf();
    compute(first, pool);
    const found: number[] = [];

    expect(matchPrefix(sequenceOf(), pool, 2, found)).toBe(2);
    expect(found).toEqual(first.blocks.slice(0, 2));
    expect(matchPrefix(sequenceOf(), pool, 1, found)).toBe(1);
    releaseKv(first, pool);
    expect(matchPrefix(sequenceOf(), pool, 2, found)).toBe(0);
    expect(found).toHaveLength(2);
  });

  it("are adopted as computed and cached", () => {
    const pool = poolOf(8);
    const first = sequenceOf();
    compute(first, pool);
    const second = sequenceOf();

    adoptPrefix(second, pool, first.blocks.slice(0, 2));

    expect([second.computed, second.cachedTokens, second.committed]).toEqual([8, 8, 2]);
    expect(pool.activeBlocks).toBe(3);
  });

  it("stay when the pool runs out, for a later try", () => {
    const pool = poolOf(2);
    const sequence = sequenceOf();

    expect(coverTokens(sequence, pool, 10)).toBe(false);
    expect(sequence.blocks).toHaveLength(2);
    expect(coverTokens(sequence, pool, 8)).toBe(true);
  });

  it("are copied before they are written if a fork shares them", () => {
    const pool = poolOf(8);
    const sequence = sequenceOf();
    compute(sequence, pool);
    const fork = new Sequence(sequence.group, 1, "running", sequence);
    for (const id of fork.blocks) pool.acquire(id);

    coverTokens(fork, pool, 11);
    coverTokens(sequence, pool, 11);

    expect(fork.blocks.slice(0, 2)).toEqual(sequence.blocks.slice(0, 2));
    expect(fork.blocks[2]).not.toBe(sequence.blocks[2]);
    expect(pool.activeBlocks).toBe(4);
  });

  it("are hashed with what was generated when they are complete", () => {
    const pool = poolOf(8);
    const sequence = sequenceOf();
    compute(sequence, pool);
    sequence.append(10);
    sequence.append(11);
    compute(sequence, pool);

    const again = sequenceOf(requestOf({ promptTokens: tokensFrom(0, 12) }));
    expect(matchPrefix(again, pool, 3, [])).toBe(3);
  });

  it("are all given back, tokens and hashes kept", () => {
    const pool = poolOf(8);
    const sequence = sequenceOf();
    compute(sequence, pool);
    releaseKv(sequence, pool);

    expect([sequence.blocks.length, sequence.computed, sequence.committed]).toEqual([0, 0, 0]);
    expect([sequence.known, sequence.chain.count, pool.activeBlocks]).toEqual([10, 2, 0]);
  });
});
