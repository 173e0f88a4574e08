import { describe, expect, it } from "vitest";
import { BpeModelBuild } from "../../src/bpe/build-bpe-model.ts";
import { smallArtifact } from "../support/small-artifact.ts";

describe("BpeModelBuild", () => {
  it("takes as many steps as its items need", () => {
    const build = new BpeModelBuild(smallArtifact());
    let steps = 1;
    while (!build.step(10)) {
      steps += 1;
    }
    expect(steps).toBe(Math.ceil((263 + 4) / 10));
  });

  it("refuses a merge whose result is no token", () => {
    const merges = Uint32Array.of(100, 101, 259, 259);
    expect(() => new BpeModelBuild(smallArtifact({ merges })).step(1000)).toThrow(/^merges\[1\]: /);
  });
});
