import { expect, it } from "vitest";
import { BlockPool } from "../src/block-pool.ts";
import type { EngineRequest } from "../src/index.ts";
import { RequestBook } from "../src/request-book.ts";
import { coverTokens } from "../src/sequence.ts";
import { countingPlan, requestOf } from "./support/builders.ts";
import { testHasher } from "./support/test-hasher.ts";

function bookOf(): { book: RequestBook<EngineRequest>; pool: BlockPool } {
  const pool = new BlockPool({ blockCount: 8, blockSize: 4, prefixCaching: true });
  return { book: new RequestBook(pool, testHasher), pool };
}

it("enters a request as one hashed sequence in the phase of its kind", () => {
  const { book } = bookOf();
  const sequence = book.open(requestOf(), "generate", []);

  expect([sequence.phase, sequence.chain.count, book.has("a")]).toEqual(["waiting", 2, true]);
  expect(book.open(requestOf({ id: "b" }), "decode", [1]).phase).toBe("queued");
});

it("forgets a request with its last sequence, and gives back all blocks", () => {
  const { book, pool } = bookOf();
  const plans = [countingPlan, countingPlan, countingPlan];
  const sequence = book.open(requestOf({ plans }), "generate", []);
  coverTokens(sequence, pool, 10);
  sequence.moveTo("running");

  const forks = book.fork(sequence);

  expect(forks.map((fork) => [fork.choice, fork.slots])).toEqual([
    [0, 1],
    [1, 1],
    [2, 1],
  ]);
  expect(pool.activeBlocks).toBe(3);
  expect(forks.map((fork) => book.forget(fork))).toEqual([false, false, true]);
  expect([pool.activeBlocks, book.has("a")]).toEqual([0, false]);
});
