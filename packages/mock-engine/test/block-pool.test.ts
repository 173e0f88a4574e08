import { describe, expect, it } from "vitest";
import { BlockPool, noBlock } from "../src/block-pool.ts";
import { HashChain } from "../src/hash-chain.ts";
import { EventFollower, tokensFrom } from "./support/builders.ts";
import { collidingHasher, testHasher } from "./support/test-hasher.ts";

const blockSize = 4;

interface Content {
  readonly tokens: Uint32Array;
  readonly chain: HashChain;
}

function contentOf(tokens: Uint32Array, hasher = testHasher): Content {
  const chain = new HashChain();
  chain.appendTokens(tokens, blockSize, hasher);
  return { tokens, chain };
}

function poolOf(blockCount: number, prefixCaching = true): BlockPool {
  return new BlockPool({ blockCount, blockSize, prefixCaching });
}

/** Takes and commits a block for each complete block of the content, reusing none. */
function fill(pool: BlockPool, { tokens, chain }: Content): number[] {
  const blocks: number[] = [];
  for (let i = 0; i < chain.count; i++) {
    const own = pool.allocate();
    blocks.push(pool.commit(own, blocks[i - 1] ?? noBlock, chain, i, tokens));
  }
  return blocks;
}

function find(pool: BlockPool, { tokens, chain }: Content): number[] {
  const found: number[] = [];
  for (let i = 0; i < chain.count; i++) {
    const id = pool.find(found[i - 1] ?? noBlock, chain, i, tokens);
    if (id === noBlock) break;
    found.push(id);
  }
  return found;
}

const counts = (pool: BlockPool): number[] => [
  pool.activeBlocks,
  pool.cachedBlocks,
  pool.freeBlocks,
];

describe("BlockPool", () => {
  it("counts a shared block once", () => {
    const pool = poolOf(4);
    const blocks = fill(pool, contentOf(tokensFrom(0, 8)));
    for (const id of blocks) pool.acquire(id);

    expect(counts(pool)).toEqual([2, 0, 2]);
    pool.releaseAll(blocks.slice());
    expect(counts(pool)).toEqual([2, 0, 2]);
    pool.releaseAll(blocks);
    expect(counts(pool)).toEqual([0, 2, 2]);
  });

  it("finds cached blocks again and makes them active", () => {
    const pool = poolOf(4);
    const content = contentOf(tokensFrom(0, 8));
    const blocks = fill(pool, content);
    pool.releaseAll(blocks.slice());

    expect(find(pool, content)).toEqual(blocks);
    pool.acquire(blocks[0]!);
    expect(counts(pool)).toEqual([1, 1, 2]);
  });

  it("frees a block that was never complete", () => {
    const pool = poolOf(2);
    pool.release(pool.allocate());

    expect(counts(pool)).toEqual([0, 0, 2]);
  });

  it("has no block left when all are active", () => {
    const pool = poolOf(1);
    pool.allocate();

    expect(pool.allocate()).toBe(noBlock);
  });

  it("evicts the least recently used block, leaves before their parents", () => {
    const pool = poolOf(4);
    const long = contentOf(tokensFrom(0, 12));
    const short = contentOf(tokensFrom(100, 4));
    const follower = new EventFollower();
    pool.releaseAll(fill(pool, long));
    pool.releaseAll(fill(pool, short));

    pool.allocate();
    pool.allocate();

    expect(find(pool, long)).toHaveLength(1);
    expect(find(pool, short)).toHaveLength(1);
    follower.apply(pool.events.take());
    expect(follower.parents.size).toBe(2);
  });

  it("keeps what was used again and evicts what was not", () => {
    const pool = poolOf(2);
    const older = contentOf(tokensFrom(0, 4));
    const newer = contentOf(tokensFrom(100, 4));
    pool.releaseAll(fill(pool, older));
    pool.releaseAll(fill(pool, newer));
    const [again] = find(pool, older);
    pool.acquire(again!);
    pool.release(again!);

    pool.allocate();

    expect([find(pool, older).length, find(pool, newer).length]).toEqual([1, 0]);
  });

  it("merges a block that another sequence has computed too", () => {
    const pool = poolOf(4);
    const content = contentOf(tokensFrom(0, 8));
    const first = fill(pool, content);
    pool.events.take();

    const second = fill(pool, content);

    expect(second).toEqual(first);
    expect(counts(pool)).toEqual([2, 0, 2]);
    expect(pool.events.take()).toEqual([]);
  });

  it("does not trust a hash alone: other token ids are not reused", () => {
    const pool = poolOf(8);
    const one = contentOf(tokensFrom(0, 8), collidingHasher);
    const other = contentOf(tokensFrom(50, 8), collidingHasher);
    const blocks = fill(pool, one);

    expect(find(pool, other)).toEqual([]);
    const privateBlocks = fill(pool, other);
    expect(privateBlocks.some((id) => blocks.includes(id) || pool.isCached(id))).toBe(false);
    pool.releaseAll(privateBlocks);
    expect(counts(pool)).toEqual([2, 0, 6]);
    expect(find(pool, one)).toEqual(blocks);
  });

  it("does not trust a hash alone: another parent is not reused", () => {
    const pool = poolOf(8);
    const { chain, tokens } = contentOf(tokensFrom(0, 8));
    const [root, child] = fill(pool, { chain, tokens });
    const stranger = fill(pool, contentOf(tokensFrom(70, 4)))[0]!;

    expect(pool.find(root!, chain, 1, tokens)).toBe(child);
    expect(pool.find(stranger, chain, 1, tokens)).toBe(noBlock);
    expect(pool.find(noBlock, chain, 1, tokens)).toBe(noBlock);
  });

  it("caches nothing and tells nothing without prefix caching", () => {
    const pool = poolOf(4, false);
    const content = contentOf(tokensFrom(0, 8));
    pool.releaseAll(fill(pool, content));
    pool.clear();

    expect(find(pool, content)).toEqual([]);
    expect(counts(pool)).toEqual([0, 0, 4]);
    expect(pool.events.take()).toEqual([]);
  });

  it("forgets everything when cleared, but leaves sequences their blocks", () => {
    const pool = poolOf(8);
    const kept = contentOf(tokensFrom(0, 8));
    const blocks = fill(pool, kept);
    pool.releaseAll(fill(pool, contentOf(tokensFrom(100, 8))));
    pool.events.take();

    pool.clear();

    expect(pool.events.take()).toEqual([{ kind: "cleared" }]);
    expect(counts(pool)).toEqual([2, 0, 6]);
    expect(find(pool, kept)).toEqual([]);
    const grown = contentOf(tokensFrom(0, 12));
    const own = pool.allocate();
    expect(pool.commit(own, blocks[1]!, grown.chain, 2, grown.tokens)).toBe(own);
    expect(pool.isCached(own)).toBe(false);
    expect(pool.events.take()).toEqual([]);
  });

  it("tells a follower that comes late all cached blocks, parents first", () => {
    const pool = poolOf(16);
    const trunk = tokensFrom(0, 8);
    const follower = new EventFollower();
    for (const tail of [20, 30, 40]) {
      const content = contentOf(Uint32Array.of(...trunk, ...tokensFrom(tail, 8)));
      pool.releaseAll(fill(pool, content));
    }
    const late = new EventFollower();

    late.apply(pool.snapshot());

    follower.apply(pool.events.take());
    expect(late.parents).toEqual(follower.parents);
    expect(late.parents.size).toBe(8);
  });

  it("refuses to be released too often and to hand out free blocks", () => {
    const pool = poolOf(2);
    const id = pool.allocate();
    pool.release(id);

    expect(() => pool.release(id)).toThrow("released more often");
    expect(() => poolOf(2).acquire(1)).toThrow("is free");
  });

  it.each([
    [0, 4],
    [4, 0],
    [1.5, 4],
    [4, Number.NaN],
  ])("refuses %d blocks of %d tokens", (blockCount, size) => {
    const options = { blockCount, blockSize: size, prefixCaching: true };
    expect(() => new BlockPool(options)).toThrow(RangeError);
  });
});
