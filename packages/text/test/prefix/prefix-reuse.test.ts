import { describe, expect, it } from "vitest";
import {
  createTokenizer,
  readTokenizerFolder,
  type TokenizerArtifact,
  type TokenizerOptions,
} from "../../src/index.ts";
import { makeProse } from "../support/make-prose.ts";
import { chainedPrompts } from "../support/prompt-chains.ts";
import { readDefaultArtifact, readMakeModelJson, variants } from "../support/tokenizer-json.ts";

const artifacts: readonly (readonly [string, TokenizerArtifact])[] = [
  ["SmolLM2", readDefaultArtifact()],
  ...Object.entries(variants).map(
    ([name, change]) =>
      [name, readTokenizerFolder({ tokenizerJson: change(readMakeModelJson()) })] as const,
  ),
];

describe("known beginnings of prompts", () => {
  describe.each(artifacts)("of %s", (_, artifact) => {
    it.each([
      { prefixPieceUnits: 16, prefixBytes: 10_000_000 },
      { prefixPieceUnits: 16, prefixBytes: 30_000 },
      { prefixPieceUnits: 64, prefixBytes: 200_000 },
      { prefixPieceUnits: 1024, prefixBytes: 1_000_000 },
    ])("give the ids of no such knowledge, with %o", (options: TokenizerOptions) => {
      const plain = createTokenizer(artifact);
      const knowing = createTokenizer(artifact, options);
      for (const [index, prompt] of chainedPrompts(100, 41, 4000).entries()) {
        const addSpecial = index % 2 === 0;
        const found = knowing.encode(prompt, { addSpecial });
        expect(found).toEqual(plain.encode(prompt, { addSpecial }));
      }
    });

    it("give them for jobs that run at the same time", () => {
      const plain = createTokenizer(artifact);
      const knowing = createTokenizer(artifact, { prefixPieceUnits: 16, prefixBytes: 100_000 });
      const prompts = chainedPrompts(40, 43, 4000);
      const jobs = prompts.map((prompt) => knowing.encodeJob(prompt));
      for (let open = jobs.length; open > 0; ) {
        open = jobs.filter((job) => !job.step(3)).length;
      }
      for (const [index, prompt] of prompts.entries()) {
        expect(jobs[index]?.ids()).toEqual(plain.encode(prompt));
      }
    });
  });

  it("give the ids of no such knowledge for ten thousand prompts", () => {
    const plain = createTokenizer(readDefaultArtifact());
    const knowing = createTokenizer(readDefaultArtifact(), {
      prefixPieceUnits: 16,
      prefixBytes: 1_000_000,
    });
    const unlike = chainedPrompts(10_000, 44, 300).filter(
      (prompt) => knowing.encode(prompt).join() !== plain.encode(prompt).join(),
    );

    expect(unlike).toEqual([]);
  });

  it.each(["words", "code", "han"] as const)("leave little to do for %s", (kind) => {
    const tokenizer = createTokenizer(readDefaultArtifact(), { prefixBytes: 10_000_000 });
    const beginning = makeProse(kind, 20_000, 1);
    const steps = (text: string) => {
      const job = tokenizer.encodeJob(text);
      let count = 1;
      while (!job.step(16)) count += 1;
      return count;
    };
    const first = steps(beginning + makeProse(kind, 100, 2));
    const second = steps(beginning + makeProse(kind, 100, 3));

    expect(second).toBeLessThan(first / 5);
  });

  it("stand within a text that has nowhere to be cut", () => {
    const tokenizer = createTokenizer(readDefaultArtifact(), { prefixBytes: 10_000_000 });
    const text = "0123456789".repeat(2000);
    const ids = createTokenizer(readDefaultArtifact()).encode(text);

    expect(tokenizer.encode(text)).toEqual(ids);
    expect(tokenizer.encode(text)).toEqual(ids);
  });
});
