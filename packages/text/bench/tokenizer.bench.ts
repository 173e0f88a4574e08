/** Run: `npx vitest bench --run packages/text`. Divide by the tokens in the title for the cost of one. */
import { readFileSync } from "node:fs";
import { bench, describe } from "vitest";
import {
  createTokenizer,
  decodeTokenizerArtifact,
  StopMatcher,
  TokenizerBuild,
} from "../src/index.ts";
import { makeProse } from "../test/support/make-prose.ts";

const bytes = readFileSync(new URL("../assets/default-tokenizer.bin", import.meta.url));
const artifact = decodeTokenizerArtifact(bytes);
const tokenizer = createTokenizer(artifact);

/** Texts that no call has seen before, as far as the pool goes: a memo of words must not look better than it is. */
function makePool(kind: "words" | "code" | "han"): readonly string[] {
  return Array.from({ length: 64 }, (_, seed) => makeProse(kind, 32_000, seed + 1));
}

for (const kind of ["words", "code", "han"] as const) {
  const pool = makePool(kind);
  const tokens = Math.round(
    pool.reduce((sum, text) => sum + tokenizer.encode(text).length, 0) / pool.length,
  );
  let next = 0;
  describe(`${kind}, ${tokens} tokens`, () => {
    bench("encode", () => {
      next += 1;
      tokenizer.encode(pool[next % pool.length] ?? "");
    });
    bench("encode in slices of 256 words", () => {
      next += 1;
      const job = tokenizer.encodeJob(pool[next % pool.length] ?? "");
      while (!job.step(256)) {
        // The caller would look at its clock here.
      }
      job.ids();
    });
    const ids = tokenizer.encode(pool[0] ?? "");
    bench("detokenize token by token", () => {
      const detokenizer = tokenizer.detokenizer();
      for (const id of ids) {
        detokenizer.push(id);
      }
      detokenizer.flush();
    });
    const pieces = Array.from(ids, (id) => tokenizer.tokenText(id));
    bench("look for four stop strings", () => {
      const matcher = new StopMatcher(["\n\nUser:", "###", "</answer>", "the end of it"]);
      for (const piece of pieces) {
        matcher.feed(piece);
      }
    });
  });
}

describe("load 49,152 tokens", () => {
  bench("decode the artifact", () => {
    decodeTokenizerArtifact(bytes);
  });
  bench("build the tables", () => {
    const build = new TokenizerBuild(artifact);
    while (!build.step(10_000)) {
      // The caller would look at its clock here.
    }
  });
});
