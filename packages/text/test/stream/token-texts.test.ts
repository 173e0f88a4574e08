import { describe, expect, it } from "vitest";
import { TokenTexts } from "../../src/stream/token-texts.ts";
import { smallArtifact } from "../support/small-artifact.ts";

describe("TokenTexts", () => {
  const texts = new TokenTexts(smallArtifact());

  it("knows which tokens are text by themselves", () => {
    expect(texts.wholeText(260)).toBe("abc");
    expect(texts.wholeText(260)).toBe("abc");
    expect(texts.wholeText(0xe5 + 3)).toBeNull();
    expect(texts.wholeText(0xff + 3)).toBe("\ufffd");
    expect(texts.wholeText(-1)).toBe("");
    expect(texts.wholeText(263)).toBe("");
  });

  it("knows which tokens mark structure", () => {
    expect([0, 2, 3, 999].map((id) => texts.isSpecial(id))).toEqual([true, true, false, false]);
  });
});
