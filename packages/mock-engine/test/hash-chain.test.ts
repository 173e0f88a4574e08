import { expect, it } from "vitest";
import { HashChain } from "../src/hash-chain.ts";
import { tokensFrom } from "./support/builders.ts";
import { testHasher } from "./support/test-hasher.ts";

function wordsOf(chain: HashChain): number[][] {
  return Array.from({ length: chain.count }, (_, i) => [
    chain.blockLow(i),
    chain.blockHigh(i),
    chain.sequenceLow(i),
    chain.sequenceHigh(i),
  ]);
}

it("reads hashes as little-endian words, wherever the bytes begin", () => {
  const bytes = Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7, 8).subarray(1);
  const chain = new HashChain();
  chain.appendBytes(bytes, bytes.slice().reverse());

  expect(wordsOf(chain)).toEqual([[0x04030201, 0x08070605, 0x05060708, 0x01020304]]);
});

it("gives blocks that are hashed one by one the hashes of all at once", () => {
  const tokens = tokensFrom(5, 40);
  const whole = new HashChain(0);
  const stepwise = new HashChain(0);

  whole.appendTokens(tokens, 4, testHasher, { low: 9, high: 8 });
  for (let at = 0; at < 40; at += 4) {
    stepwise.appendTokens(tokens.subarray(at, at + 4), 4, testHasher, { low: 9, high: 8 });
  }

  expect(wordsOf(stepwise)).toEqual(wordsOf(whole));
  expect(whole.count).toBe(10);
});

it("copies into a chain that goes its own way", () => {
  const chain = new HashChain();
  chain.appendTokens(tokensFrom(0, 4), 4, testHasher);
  const copy = chain.copy();

  chain.appendTokens(tokensFrom(1, 4), 4, testHasher);
  copy.appendTokens(tokensFrom(2, 4), 4, testHasher);

  expect(wordsOf(copy)[0]).toEqual(wordsOf(chain)[0]);
  expect(wordsOf(copy)[1]).not.toEqual(wordsOf(chain)[1]);
});
