import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTokenizer, TokenizerBuild } from "../src/index.ts";
import { smallArtifact } from "./support/small-artifact.ts";
import { readDefaultArtifact, readMakeModelArtifact } from "./support/tokenizer-json.ts";

describe("a byte-level tokenizer", () => {
  const tokenizer = createTokenizer(readMakeModelArtifact());

  it("gives any text back, byte for byte", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 80 }), (text) => {
        expect(tokenizer.decode(tokenizer.encode(text), { skipSpecial: false })).toBe(text);
      }),
    );
  });

  it("adds no special tokens unless asked", () => {
    const artifact = smallArtifact({ prefixIds: [0], suffixIds: [1] });
    const small = createTokenizer(artifact);
    expect([...small.encode("ab")]).toEqual([259]);
    expect([...small.encode("ab", { addSpecial: true })]).toEqual([0, 259, 1]);
    expect([...small.encode("", { addSpecial: true })]).toEqual([0, 1]);
    expect(small.encode("")).toHaveLength(0);
  });

  it("turns spelled special tokens into those tokens", () => {
    const small = createTokenizer(smallArtifact());
    expect([...small.encode("<s>ab</s><s")]).toEqual([0, 259, 1, 0x3c + 3, 0x73 + 3]);
  });

  it("looks for normalized added tokens in normalized text, and for others in the text as it is", () => {
    const artifact = smallArtifact({ normalizer: "nfc" });
    const addedTokens = [
      { id: 0, content: "e\u0301", special: false, normalized: false },
      { id: 1, content: "a\u0308", special: false, normalized: true },
    ];
    const small = createTokenizer({ ...artifact, addedTokens });
    expect([...small.encode("e\u0301")]).toEqual([0]);
    expect([...small.encode("\u00e9")]).toEqual([0xc3 + 3, 0xa9 + 3]);
    expect([...small.encode("\u00e4a\u0308")]).toEqual([1, 1]);
  });
});

describe("what a tokenizer tells", () => {
  it("comes from its artifact", () => {
    const tokenizer = createTokenizer(readDefaultArtifact());
    expect(tokenizer.vocabularySize).toBe(49_152);
    expect([tokenizer.bosToken, tokenizer.eosToken]).toEqual(["<|im_start|>", "<|im_end|>"]);
    expect([...tokenizer.endOfGenerationIds]).toEqual([0, 2]);
    expect(tokenizer.isSpecial(1)).toBe(true);
    expect(tokenizer.isSpecial(1000)).toBe(false);
    expect(tokenizer.addedTokenId("<|im_end|>")).toBe(2);
    expect(tokenizer.addedTokenId("the")).toBeUndefined();
    expect(tokenizer.chatTemplate).toContain("<|im_start|>");
  });

  it("includes the text and the bytes of each token", () => {
    const tokenizer = createTokenizer(smallArtifact({ bosId: null }));
    expect(tokenizer.bosToken).toBe("");
    expect(tokenizer.tokenText(261)).toBe(" a");
    expect(tokenizer.tokenText(0xff + 3)).toBe("\ufffd");
    expect(tokenizer.tokenText(5000)).toBe("");
    expect([...tokenizer.tokenBytes(259)]).toEqual([0x61, 0x62]);
  });
});

describe("the default tokenizer", () => {
  it("has about a token for a common English word", () => {
    const tokenizer = createTokenizer(readDefaultArtifact());
    const text = "The people of the city have a long history of working with water and light.";
    expect(tokenizer.encode(text).length).toBe(text.split(" ").length + 1);
  });
});

describe("TokenizerBuild", () => {
  it("makes the same tokenizer in steps", () => {
    const build = new TokenizerBuild(readMakeModelArtifact());
    while (!build.step(100)) {
      // The caller would yield here.
    }
    const text = "def main(): return 'x' * 12";
    expect(build.finish().encode(text)).toEqual(
      createTokenizer(readMakeModelArtifact()).encode(text),
    );
  });

  it("refuses rules that it cannot follow", () => {
    const preTokenizer = { kind: "rules", rules: [{ kind: "pattern", source: "^a" }] } as const;
    expect(() => new TokenizerBuild(smallArtifact({ preTokenizer }))).toThrow(/^pre_tokenizer/);
  });
});
