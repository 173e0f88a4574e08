import fc from "fast-check";
import { expect, it } from "vitest";
import {
  createOverlaps,
  type IndexJob,
  type PrefixIndex,
  type RankLoad,
  type StorageTier,
  storageTiers,
} from "../../src/index.ts";
import {
  finish,
  hashesOf,
  heldBlocks,
  NaiveRank,
  noOverlap,
  overlapOf,
  type RankOverlap,
} from "./naive-index.ts";

const ranks = 4;
const lastBlock = 63;

/** A tree with a long trunk and forks at every depth: each block has one place in it, as a sequence hash has. */
function parentOf(block: number): number {
  if (block <= 3) return 0;
  return block % 3 === 0 ? Math.floor(block / 2) : block - 3;
}

/** The prompt that ends with a block. */
function promptTo(block: number): number[] {
  const prompt: number[] = [];
  for (let at = block; at > 0; at = parentOf(at)) prompt.unshift(at);
  return prompt;
}

const prompts = Array.from({ length: lastBlock }, (_, at) => promptTo(at + 1)).filter(
  (prompt) =>
    !Array.from({ length: lastBlock }, (_, at) => parentOf(at + 1)).includes(prompt.at(-1)!),
);

const promptHashes = prompts.map(hashesOf);

const rank = fc.nat({ max: ranks - 1 });
const tier = fc.constantFrom<StorageTier>("device", "device", "device", "host", "disk");
const block = fc.integer({ min: 1, max: lastBlock });
const run = { rank, tier, block, length: fc.integer({ min: 1, max: 12 }) };

/** One thing that happens to an index. */
export type HistoryStep = {
  readonly kind:
    | "store"
    | "load-store"
    | "remove"
    | "clear"
    | "remove-rank"
    | "load"
    | "commit"
    | "abandon"
    | "work";
  readonly rank: number;
  readonly tier: StorageTier;
  readonly block: number;
  readonly length: number;
};

const stepOf = (kind: HistoryStep["kind"], weight: number) => ({
  weight,
  arbitrary: fc.record({ kind: fc.constant(kind), ...run }),
});

/** Histories: stores with repeats and orphans, removals of anything, clears, removed ranks, loads, and jobs half done. */
export const histories: fc.Arbitrary<HistoryStep[]> = fc.array(
  fc.oneof(
    stepOf("store", 12),
    stepOf("load-store", 6),
    stepOf("remove", 8),
    stepOf("clear", 1),
    stepOf("remove-rank", 1),
    stepOf("load", 2),
    stepOf("commit", 2),
    stepOf("abandon", 1),
    stepOf("work", 3),
  ),
  { maxLength: 60, size: "max" },
);

/** An index beside its model. */
class History {
  readonly #index: PrefixIndex;
  readonly #models = Array.from({ length: ranks }, () => new NaiveRank());
  readonly #loads = new Map<number, { load: RankLoad; model: NaiveRank }>();
  readonly #jobs: { readonly rank: number | null; readonly job: IndexJob }[] = [];
  readonly #overlaps = createOverlaps();
  /** Most blocks that the index may know; it gives up what is more. */
  readonly #maxBlocks: number | null;

  constructor(index: PrefixIndex, maxBlocks: number | null) {
    this.#index = index;
    this.#maxBlocks = maxBlocks;
  }

  do(step: HistoryStep): void {
    const path = promptTo(step.block).slice(-step.length);
    const parent = parentOf(path[0]!);
    switch (step.kind) {
      case "store":
        this.#store(
          this.#index.store.bind(this.#index, step.rank),
          step,
          parent,
          path,
          this.#models[step.rank]!,
        );
        return;
      case "load-store": {
        const loading = this.#loads.get(step.rank);
        if (loading !== undefined) {
          this.#store(loading.load.store, step, parent, path, loading.model);
        }
        return;
      }
      case "remove": {
        const hashes = hashesOf(path.toReversed());
        const absent = this.#models[step.rank]!.remove(step.tier, path.toReversed());
        const said = this.#index.remove(step.rank, step.tier, hashes);
        if (this.#maxBlocks === null) expect(said).toBe(absent);
        else expect(said).toBeGreaterThanOrEqual(absent);
        return;
      }
      case "clear":
      case "remove-rank": {
        this.#models[step.rank] = new NaiveRank();
        this.#loads.delete(step.rank);
        const job =
          step.kind === "clear"
            ? this.#index.clearRank(step.rank)
            : this.#index.removeRank(step.rank);
        // The slot of a removed rank is free for another one only after the job.
        if (step.kind === "remove-rank") finish(job, step.length);
        else this.#jobs.push({ rank: step.rank, job });
        return;
      }
      case "load":
        this.#loads.set(step.rank, {
          load: this.#index.loadRank(step.rank),
          model: new NaiveRank(),
        });
        return;
      case "commit": {
        const loading = this.#loads.get(step.rank);
        if (loading === undefined) return;
        this.#loads.delete(step.rank);
        this.#models[step.rank] = loading.model;
        this.#jobs.push({ rank: step.rank, job: loading.load.commit() });
        return;
      }
      case "abandon": {
        const loading = this.#loads.get(step.rank);
        if (loading === undefined) return;
        this.#loads.delete(step.rank);
        this.#jobs.push({ rank: step.rank, job: loading.load.abandon() });
        return;
      }
      case "work": {
        const next = this.#jobs[0];
        if (next?.job.step(step.length)) this.#jobs.shift();
        return;
      }
    }
  }

  #store(
    store: RankLoad["store"],
    { tier: on }: HistoryStep,
    parent: number,
    path: readonly number[],
    model: NaiveRank,
  ): void {
    const isOrphan = parent !== 0 && !model.hasAny(parent);
    const stored = store(on, parent === 0 ? null : hashesOf([parent]), hashesOf(path));
    if (!isOrphan) model.store(on, path);
    if (this.#maxBlocks === null) expect(stored).toBe(isOrphan ? "orphan" : "stored");
    // What the index gave up by itself is no missed event.
    else expect(isOrphan ? ["orphan", "dropped"] : ["stored", "dropped"]).toContain(stored);
  }

  /** A full index never knows more than there is, and keeps to its limit. */
  checkBounds(): void {
    expect(this.#index.blocks).toBeLessThanOrEqual(this.#maxBlocks ?? lastBlock);
    for (const [at, prompt] of prompts.entries()) {
      this.#index.find(promptHashes[at]!, this.#overlaps);
      for (const [slot, model] of this.#models.entries()) {
        const found = overlapOf(this.#overlaps, slot);
        const { device } = model.overlap(prompt);
        // On the way it may have taken a slower tier for a faster one that it gave up.
        const all = model.longest(prompt);
        if (found.device > device || found.device + found.host + found.disk > all) {
          expect({ prompt, slot, found }).toEqual({ prompt, slot, found: { device, all } });
        }
      }
    }
  }

  checkScores(): void {
    for (const [at, prompt] of prompts.entries()) {
      this.#index.find(promptHashes[at]!, this.#overlaps);
      const found = this.#models.map((_, slot) => overlapOf(this.#overlaps, slot));
      const scanned = this.#models.map((model) => model.overlap(prompt));
      if (!scanned.every((score, slot) => isSame(score, found[slot]!))) {
        expect({ prompt, found }).toEqual({ prompt, found: scanned });
      }
    }
  }

  /** When nothing is left to do, the index holds just what the ranks hold, and nothing once they are gone. */
  checkEnd(): void {
    this.#finishJobs();
    for (const [at, model] of this.#models.entries()) {
      for (const on of storageTiers)
        expect(heldBlocks(this.#index, at, on)).toEqual(model.blocksOn(on));
    }
    const held = new Set(
      this.#models.flatMap((model) => storageTiers.flatMap((on) => model.blocksOn(on))),
    );
    expect(this.#index.blocks).toBe(held.size);
    this.empty();
  }

  #finishJobs(): void {
    for (const { load } of this.#loads.values()) finish(load.abandon());
    for (const { job } of this.#jobs) finish(job);
  }

  /** When all ranks are gone, nothing is left. */
  empty(): void {
    this.#finishJobs();
    for (let at = 0; at < ranks; at += 1) finish(this.#index.removeRank(at));
    expect(this.#index.blocks).toBe(0);
    this.#index.find(hashesOf(prompts[0]!), this.#overlaps);
    expect(overlapOf(this.#overlaps, 0)).toEqual(noOverlap);
  }
}

/** Says that an index finds what a naive scan of every rank finds, after every step of any history. */
export function findsWhatTheRanksHold(create: () => PrefixIndex, numRuns = 100): void {
  it("finds what a scan of every rank finds, after every step of any history", () => {
    fc.assert(
      fc.property(histories, fc.boolean(), (steps, deviceOnly) => {
        const history = new History(create(), null);
        for (const step of steps) {
          // Without slower tiers an index may look at fewer blocks.
          history.do(deviceOnly ? { ...step, tier: "device" } : step);
          history.checkScores();
        }
        history.checkEnd();
      }),
      { numRuns },
    );
  });
}

/** Says that an index with room for `maxBlocks` blocks gives up some of them, and no more than that goes wrong. */
export function keepsToItsLimit(create: (maxBlocks: number) => PrefixIndex, numRuns = 60): void {
  it("knows no more than there is, and reports no orphan for what it gave up itself", () => {
    fc.assert(
      fc.property(histories, fc.integer({ min: 1, max: 40 }), (steps, maxBlocks) => {
        const history = new History(create(maxBlocks), maxBlocks);
        for (const step of steps) {
          history.do(step);
          history.checkBounds();
        }
        history.empty();
      }),
      { numRuns },
    );
  });
}

function isSame(one: RankOverlap, other: RankOverlap): boolean {
  return one.device === other.device && one.host === other.host && one.disk === other.disk;
}
