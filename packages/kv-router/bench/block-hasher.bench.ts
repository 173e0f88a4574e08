import { createXXHash3 } from "hash-wasm";
import { bench, describe } from "vitest";
import xxhash from "xxhash-wasm";
import { createBlockHasherFromModule } from "../src/index.ts";

const hasher = createBlockHasherFromModule();
const library = await createXXHash3(1337, 0);
const { h64Raw } = await xxhash();
const tokens = new Uint32Array(8_192).map((_, index) => Math.imul(index, 2_654_435_761));

for (const blockSize of [16, 64]) {
  describe(`a prompt of 8,192 tokens in blocks of ${blockSize}`, () => {
    bench("one batch call", () => {
      hasher.blockHashes(tokens, blockSize);
    });

    bench("xxhash-wasm, block by block", () => {
      for (let at = 0; at < tokens.length; at += blockSize) {
        h64Raw(new Uint8Array(tokens.buffer, at * 4, blockSize * 4), 1337n);
      }
    });

    bench("hash-wasm, block by block", () => {
      for (let at = 0; at < tokens.length; at += blockSize) {
        const block = new Uint8Array(tokens.buffer, at * 4, blockSize * 4);
        library.init().update(block).digest("binary");
      }
    });
  });
}

describe("the sequence hashes of 512 blocks", () => {
  const blocks = hasher.blockHashes(tokens, 16);

  bench("one batch call", () => {
    hasher.sequenceHashes(blocks);
  });
});
