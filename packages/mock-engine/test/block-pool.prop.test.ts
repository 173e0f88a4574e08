import fc from "fast-check";
import { expect, it } from "vitest";
import { BlockPool, noBlock } from "../src/block-pool.ts";
import { HashChain } from "../src/hash-chain.ts";
import { EventFollower, hexHashes } from "./support/builders.ts";
import { testHasher } from "./support/test-hasher.ts";

const blockSize = 2;
const blockCount = 8;

type Step =
  | { readonly kind: "open"; readonly blocks: readonly number[] }
  | { readonly kind: "close"; readonly which: number }
  | { readonly kind: "clear" };

interface ModelBlock {
  readonly parent: string;
  references: number;
  releasedAt: number;
}

/** Cached blocks by their path from the root ("1/2/2"), as plain objects. */
class Model {
  readonly blocks = new Map<string, ModelBlock>();
  private tick = 0;

  acquire(path: string): void {
    const block = this.blocks.get(path) ?? { parent: parentOf(path), references: 0, releasedAt: 0 };
    this.blocks.set(path, block);
    block.references++;
  }

  release(path: string): void {
    const block = this.blocks.get(path);
    if (block === undefined) return;
    block.references--;
    block.releasedAt = this.tick++;
  }

  inactive(): number {
    return [...this.blocks.values()].filter((block) => block.references === 0).length;
  }

  evictOldestLeaf(): void {
    const parents = new Set([...this.blocks.values()].map((block) => block.parent));
    const leaves = [...this.blocks].filter(([path, b]) => b.references === 0 && !parents.has(path));
    leaves.sort(([, a], [, b]) => a.releasedAt - b.releasedAt);
    this.blocks.delete(leaves[0]![0]);
  }
}

interface OpenSequence {
  readonly ids: number[];
  /** A path a block; none where the block is not cached under it any more. */
  readonly paths: (string | undefined)[];
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("open" as const),
      blocks: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 5 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("close" as const), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.constant({ kind: "clear" as const }) },
);

it("caches, shares and evicts as a map of paths with references does", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const run = new Run();
      for (const each of steps) {
        run.take(each);
        run.check();
      }
      run.closeAll();
      expect(run.pool.activeBlocks).toBe(0);
    }),
    { numRuns: 300 },
  );
});

class Run {
  readonly pool = new BlockPool({ blockCount, blockSize, prefixCaching: true });
  private readonly model = new Model();
  private readonly follower = new EventFollower();
  private readonly open: OpenSequence[] = [];

  take(each: Step): void {
    if (each.kind === "open") this.openSequence(each.blocks);
    else if (each.kind === "close") this.close(each.which);
    else this.clear();
  }

  check(): void {
    this.follower.apply(this.pool.events.take());
    const cachedNow = [...this.model.blocks.keys()].map(hashOfPath).sort();
    expect([...this.follower.parents.keys()].sort()).toEqual(cachedNow);
    const held = new Set(this.open.flatMap((sequence) => sequence.ids));
    expect(this.pool.activeBlocks).toBe(held.size);
    expect(this.pool.cachedBlocks).toBe(this.model.inactive());
    expect(this.pool.freeBlocks).toBe(blockCount - held.size - this.model.inactive());
    const late = new EventFollower();
    late.apply(this.pool.snapshot());
    expect(late.parents).toEqual(this.follower.parents);
  }

  closeAll(): void {
    while (this.open.length > 0) this.close(0);
    this.check();
  }

  private openSequence(blocks: readonly number[]): void {
    const tokens = tokensOf(blocks);
    const chain = chainOf(tokens);
    const sequence: OpenSequence = { ids: [], paths: [] };
    this.open.push(sequence);
    for (let i = 0; i < blocks.length; i++) {
      const parent = sequence.ids[i - 1] ?? noBlock;
      const path = blocks.slice(0, i + 1).join("/");
      const found = this.pool.find(parent, chain, i, tokens);
      expect(found !== noBlock).toBe(this.model.blocks.has(path) && parentIsCached(sequence, i));
      if (found === noBlock) {
        if (!this.addOwn(sequence, i, path, tokens, chain)) return;
      } else {
        this.pool.acquire(found);
        this.model.acquire(path);
        sequence.ids.push(found);
        sequence.paths.push(path);
      }
    }
  }

  private addOwn(
    sequence: OpenSequence,
    i: number,
    path: string,
    tokens: Uint32Array,
    chain: HashChain,
  ): boolean {
    const evicts = this.pool.freeBlocks === 0 && this.pool.cachedBlocks > 0;
    const own = this.pool.allocate();
    if (own === noBlock) {
      expect(this.pool.activeBlocks).toBe(blockCount);
      return false;
    }
    if (evicts) this.model.evictOldestLeaf();
    const kept = this.pool.commit(own, sequence.ids[i - 1] ?? noBlock, chain, i, tokens);
    const cached = parentIsCached(sequence, i);
    expect(this.pool.isCached(kept)).toBe(cached);
    if (cached) this.model.acquire(path);
    sequence.ids.push(kept);
    sequence.paths.push(cached ? path : undefined);
    return true;
  }

  private close(which: number): void {
    if (this.open.length === 0) return;
    const [sequence] = this.open.splice(which % this.open.length, 1);
    this.pool.releaseAll(sequence!.ids);
    for (const path of sequence!.paths.reverse()) if (path !== undefined) this.model.release(path);
  }

  private clear(): void {
    this.pool.clear();
    this.model.blocks.clear();
    for (const sequence of this.open) sequence.paths.fill(undefined);
  }
}

function parentIsCached(sequence: OpenSequence, i: number): boolean {
  return i === 0 || sequence.paths[i - 1] !== undefined;
}

function parentOf(path: string): string {
  return path.split("/").slice(0, -1).join("/");
}

function tokensOf(blocks: readonly number[]): Uint32Array {
  return Uint32Array.from(blocks.flatMap((block) => [block, block + 100]));
}

function chainOf(tokens: Uint32Array): HashChain {
  const chain = new HashChain();
  chain.appendTokens(tokens, blockSize, testHasher);
  return chain;
}

function hashOfPath(path: string): string {
  const tokens = tokensOf(path.split("/").map(Number));
  const hashes = testHasher.sequenceHashes(testHasher.blockHashes(tokens, blockSize));
  return hexHashes(hashes).at(-1)!;
}
