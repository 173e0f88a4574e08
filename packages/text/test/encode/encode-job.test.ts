import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTokenizer, readTokenizerFolder, type Tokenizer } from "../../src/index.ts";
import { fuzzTexts } from "../support/fuzz-text.ts";
import { makeProse } from "../support/make-prose.ts";
import { smallArtifact } from "../support/small-artifact.ts";
import { readDefaultArtifact, readMakeModelJson, variants } from "../support/tokenizer-json.ts";

const tokenizers: readonly Tokenizer[] = [
  createTokenizer(readDefaultArtifact()),
  ...Object.values(variants).map((change) =>
    createTokenizer(readTokenizerFolder({ tokenizerJson: change(readMakeModelJson()) })),
  ),
];

function inSteps(tokenizer: Tokenizer, text: string, maxWords: number): number[] {
  const job = tokenizer.encodeJob(text, { addSpecial: true });
  while (!job.step(maxWords)) {
    // The caller would yield here.
  }
  return [...job.ids()];
}

describe("a job in steps", () => {
  it("gives what encoding at once gives, for texts with special tokens and steps of any size", () => {
    const texts = fc
      .array(fc.constantFrom(...fuzzTexts(60, 5)), { maxLength: 6 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(
        fc.constantFrom(...tokenizers),
        texts,
        fc.integer({ min: 1, max: 300 }),
        (tokenizer, text, words) => {
          expect(inSteps(tokenizer, text, words)).toEqual([
            ...tokenizer.encode(text, { addSpecial: true }),
          ]);
        },
      ),
    );
  });

  it.each([
    ["one long word", "ab".repeat(40_000)],
    ["long Han", makeProse("han", 150_000, 1)],
    ["words that need normalizing", "cafe\u0301 12 ".repeat(20_000)],
  ])("gives the same for %s", (_, text) => {
    for (const tokenizer of tokenizers.slice(0, 3)) {
      expect(inSteps(tokenizer, text, 256)).toEqual([
        ...tokenizer.encode(text, { addSpecial: true }),
      ]);
    }
  });

  it("may interleave with other jobs of its tokenizer", () => {
    const [, , tokenizer] = tokenizers;
    const texts = fuzzTexts(40, 8);
    const jobs = texts.map((text) => tokenizer?.encodeJob(text));
    for (let open = jobs.length; open > 0; ) {
      open = jobs.filter((job) => job?.step(1) === false).length;
    }
    for (const [index, text] of texts.entries()) {
      expect(jobs[index]?.ids()).toEqual(tokenizer?.encode(text));
    }
  });

  it("does about as many words as it is asked for", () => {
    const job = createTokenizer(smallArtifact()).encodeJob("ab ".repeat(1000));
    expect(job.step(256)).toBe(false);
    expect(job.step(100)).toBe(false);
    expect(job.ids().length).toBeLessThan(360);
    expect(job.step(Number.POSITIVE_INFINITY)).toBe(true);
  });

  it("cuts one long word into many steps", () => {
    const job = createTokenizer(readDefaultArtifact()).encodeJob("ab".repeat(50_000));
    let steps = 1;
    while (!job.step(256)) {
      steps += 1;
    }
    expect(steps).toBeGreaterThan(10);
  });
});
