import { describe, expect, it } from "vitest";
import {
  createTokenizer,
  decodeTokenizerArtifact,
  encodeTokenizerArtifact,
  readTokenizerFolder,
  type TokenizerArtifact,
} from "../src/index.ts";
import { fuzzTexts } from "./support/fuzz-text.ts";
import { digestsOf } from "./support/ids-digest.ts";
import {
  type ReferenceVector,
  readReferenceDigests,
  readReferenceVectors,
} from "./support/reference-vectors.ts";
import {
  readDefaultArtifact,
  readMakeModelArtifact,
  readMakeModelJson,
  variants,
} from "./support/tokenizer-json.ts";

function wrongOf(artifact: TokenizerArtifact, vectors: readonly ReferenceVector[]): string[] {
  const tokenizer = createTokenizer(decodeTokenizerArtifact(encodeTokenizerArtifact(artifact)));
  const wrong: string[] = [];
  for (const [text, ids] of vectors) {
    const found = tokenizer.encode(text, { addSpecial: true });
    if (found.join() !== ids.join()) {
      wrong.push(`${JSON.stringify(text.slice(0, 80))}: ${found.join()} instead of ${ids.join()}`);
    }
  }
  return wrong;
}

describe("ids equal to the reference library's", () => {
  it("for SmolLM2, from the compact form", () => {
    const vectors = readReferenceVectors("reference-smollm2");
    expect(vectors.length).toBeGreaterThan(300);
    expect(wrongOf(readDefaultArtifact(), vectors)).toEqual([]);
  });

  it("for a plain byte-level model, from its folder", () => {
    const vectors = readReferenceVectors("reference-make-model");
    expect(vectors.length).toBeGreaterThan(250);
    expect(wrongOf(readMakeModelArtifact(), vectors)).toEqual([]);
  });

  it.each([
    ["SmolLM2", "digests-smollm2", readDefaultArtifact, 1001],
    ["a plain byte-level model", "digests-make-model", readMakeModelArtifact, 1002],
  ] as const)("for %s on ten thousand random texts", async (_, name, readArtifact, seed) => {
    const tokenizer = createTokenizer(readArtifact());
    const digests = readReferenceDigests(name);

    const found = await digestsOf(fuzzTexts(10_000, seed), (text) => tokenizer.encode(text));

    expect(digests).toHaveLength(100);
    expect(found).toEqual(digests);
  });

  it.each(Object.entries(variants).map(([name, change], index) => ({ name, change, index })))(
    "for that model with $name",
    ({ change, index }) => {
      const artifact = readTokenizerFolder({ tokenizerJson: change(readMakeModelJson()) });
      const vectors = readReferenceVectors(`reference-variant-${index}`);
      expect(vectors).toHaveLength(200);
      expect(wrongOf(artifact, vectors)).toEqual([]);
    },
  );
});
