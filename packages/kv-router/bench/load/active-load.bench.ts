import { requestId } from "@baton/protocol";
import { bench, describe } from "vitest";
import {
  type ActiveLoad,
  createActiveLoad,
  createBlockHasherFromModule,
  defaultLoadTracking,
} from "../../src/index.ts";

const hasher = createBlockHasherFromModule();
const blockSize = 16;
const promptTokens = 8_192;
const blocks = promptTokens / blockSize;

function promptOf(family: number, own: number, sharedTokens: number): Uint8Array {
  const tokens = new Uint32Array(promptTokens).map((_, index) =>
    index < sharedTokens ? family * 100_000 + index : own * 100_000 + 7 * index,
  );
  return hasher.sequenceHashes(hasher.blockHashes(tokens, blockSize));
}

let next = 0;
function add(load: ActiveLoad, rank: number, sequenceHashes: Uint8Array): void {
  next += 1;
  load.add({
    bookingId: requestId(`r-${next}`),
    rank,
    sequenceHashes,
    blocks,
    prefillTokens: 1_000,
    prefillMs: null,
    promptTokens,
    blockSize,
    expectedOutputTokens: null,
    atMs: 0,
  });
}

for (const ranks of [64, 1_000]) {
  // Each rank runs prompts that begin alike: one with every other rank's, at another length each.
  const load = createActiveLoad(defaultLoadTracking);
  for (let rank = 0; rank < ranks; rank += 1) {
    add(load, rank, promptOf(1, rank + 2, Math.floor((promptTokens * rank) / ranks)));
    add(load, rank, promptOf(2, rank + 5_000, 1_024));
  }
  const spread = promptOf(1, 99_999, promptTokens);
  const alike = promptOf(2, 99_999, 1_024);
  const unknown = promptOf(99_998, 99_999, promptTokens);

  describe(`what is active of 512 blocks, ${ranks} ranks`, () => {
    bench("every rank ends elsewhere", () => {
      load.findActive(spread);
    });
    bench("all ranks end at one block", () => {
      load.findActive(alike);
    });
    bench("on no rank", () => {
      load.findActive(unknown);
    });
  });

  describe(`a booking of 512 blocks, ${ranks} ranks`, () => {
    let sequence = 0;
    bench("made and ended, an eighth of it shared", () => {
      sequence += 1;
      const bookingId = requestId(`b-${sequence}`);
      load.add({
        bookingId,
        rank: sequence % ranks,
        sequenceHashes: alike,
        blocks,
        prefillTokens: 1_000,
        prefillMs: null,
        promptTokens,
        blockSize,
        expectedOutputTokens: null,
        atMs: 0,
      });
      load.remove(bookingId, 1);
    });
  });
}
