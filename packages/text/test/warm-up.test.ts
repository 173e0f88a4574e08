import { describe, expect, it } from "vitest";
import { createTokenizer, type Tokenizer } from "../src/index.ts";
import { smallArtifact } from "./support/small-artifact.ts";
import { readDefaultArtifact, readMakeModelArtifact } from "./support/tokenizer-json.ts";

function run(tokenizer: Tokenizer): number {
  const work = tokenizer.warmUp();
  let steps = 1;
  while (!work.step(256)) {
    steps += 1;
  }
  return steps;
}

describe("warming a tokenizer up", () => {
  it("takes many steps, and ends", () => {
    const steps = run(createTokenizer(readDefaultArtifact()));
    expect(steps).toBeGreaterThan(50);
    expect(steps).toBeLessThan(1000);
  });

  it("changes no ids", () => {
    const text = "def main(): return 'x' * 12";
    const cold = createTokenizer(readMakeModelArtifact());
    const warm = createTokenizer(readMakeModelArtifact(), { prefixBytes: 1_000_000 });
    run(warm);
    expect(warm.encode(text)).toEqual(cold.encode(text));
  });

  it("does for the smallest vocabulary", () => {
    expect(run(createTokenizer(smallArtifact()))).toBeGreaterThan(1);
  });
});
