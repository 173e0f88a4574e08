import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  createFlatIndex,
  createOverlaps,
  createRadixTree,
  type PrefixIndex,
} from "../../src/index.ts";
import { makePrompts, readPrompts, serve, type TrafficStep } from "./trace-traffic.ts";

const excerpt = fileURLToPath(
  new URL("../../../../test/data/mooncake/conversation_trace_1000.jsonl.gz", import.meta.url),
);

const workers = 16;

/** A generator of numbers in [0, 1), the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What each worker holds, by tier. */
class Holdings {
  readonly device = Array.from({ length: workers }, () => new Set<bigint>());
  readonly host = Array.from({ length: workers }, () => new Set<bigint>());

  scores(prompt: readonly bigint[]): { device: number[]; host: number[] } {
    const device = this.device.map((held) => prefix(held, prompt, 0));
    return { device, host: this.host.map((held, rank) => prefix(held, prompt, device[rank]!)) };
  }
}

function prefix(held: ReadonlySet<bigint>, prompt: readonly bigint[], start: number): number {
  let end = start;
  while (end < prompt.length && held.has(prompt[end]!)) end += 1;
  return end - start;
}

const wordsOf = (hashes: Uint8Array) => [...new BigUint64Array(hashes.slice().buffer)];

/** Serves the traffic, and compares every score of every worker. With `offload` what leaves a device goes to the host. */
function compareScores(
  index: PrefixIndex,
  steps: readonly TrafficStep[],
  offload: boolean,
): number {
  const holdings = new Holdings();
  const overlaps = createOverlaps();
  let credited = 0;
  for (const step of steps) {
    const words = wordsOf(step.hashes);
    if (step.kind === "find") {
      index.find(step.hashes, overlaps);
      const of = (tier: Uint32Array) =>
        Array.from({ length: workers }, (_, rank) => tier[rank] ?? 0);
      const found = { device: of(overlaps.device), host: of(overlaps.host) };
      expect(found).toEqual(holdings.scores(words));
      credited += found.device.concat(found.host).reduce((sum, score) => sum + score, 0);
    } else if (step.kind === "store") {
      expect(index.store(step.rank, "device", step.parent, step.hashes)).toBe("stored");
      for (const word of words) holdings.device[step.rank]!.add(word);
    } else {
      if (offload) {
        for (const [at, word] of words.entries()) {
          // Offloading engines do not say what comes before a block.
          index.store(step.rank, "host", null, step.hashes.subarray(at * 8, at * 8 + 8));
          holdings.host[step.rank]!.add(word);
        }
      }
      expect(index.remove(step.rank, "device", step.hashes)).toBe(0);
      for (const word of words) holdings.device[step.rank]!.delete(word);
    }
  }
  return credited;
}

const indexes = [
  ["radix tree", () => createRadixTree()],
  ["flat index", () => createFlatIndex()],
] as const;

const traffics: readonly (readonly [string, () => readonly TrafficStep[]])[] = [
  [
    "the first of Mooncake's conversations",
    () => serve(readPrompts(excerpt), { workers, capacity: 300, parts: 1 }),
  ],
  [
    "them in blocks of 128 tokens",
    () => serve(readPrompts(excerpt).slice(0, 250), { workers, capacity: 800, parts: 4 }),
  ],
  [
    "made conversations",
    () => serve(makePrompts(1_500, randomFrom(7)), { workers, capacity: 200, parts: 1 }),
  ],
];

describe.each(indexes)("the scores of a %s", (_, create) => {
  it.each(traffics)("are those of a scan of every worker: %s", (__, steps) => {
    expect(compareScores(create(), steps(), false)).toBeGreaterThan(1_000);
  });

  it.each(traffics)("are those of a scan with two tiers: %s", (__, steps) => {
    expect(compareScores(create(), steps(), true)).toBeGreaterThan(1_000);
  });
});
