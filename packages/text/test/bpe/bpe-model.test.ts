import { describe, expect, it } from "vitest";
import type { BpeModel } from "../../src/bpe/bpe-model.ts";
import { BpeModelBuild } from "../../src/bpe/build-bpe-model.ts";
import { IdBuffer } from "../../src/bpe/id-buffer.ts";
import type { TokenizerArtifact } from "../../src/index.ts";
import { smallArtifact } from "../support/small-artifact.ts";

function makeModel(changes: Partial<TokenizerArtifact> = {}): BpeModel {
  const build = new BpeModelBuild(smallArtifact(changes));
  build.step(Number.POSITIVE_INFINITY);
  return build.finish();
}

function encode(model: BpeModel, word: string): number[] {
  const units = Uint16Array.from({ length: word.length }, (_, at) => word.charCodeAt(at));
  const out = new IdBuffer(16);
  model.encodeWord(units, 0, units.length, out);
  return [...out.toArray()];
}

const id = (character: string) => character.charCodeAt(0) + 3;

describe("BpeModel", () => {
  it("merges by rank, the same at the second call", () => {
    const model = makeModel();
    for (let call = 0; call < 2; call += 1) {
      expect(encode(model, "abc")).toEqual([260]);
      expect(encode(model, "bcab")).toEqual([262, 259]);
      expect(encode(model, "aabcc")).toEqual([id("a"), 260, id("c")]);
    }
  });

  it("takes a whole word only if the model ignores merges", () => {
    const merges = Uint32Array.of(id("a"), id("b"));
    expect(encode(makeModel({ merges }), "abc")).toEqual([259, id("c")]);
    expect(encode(makeModel({ merges, ignoreMerges: true }), "abc")).toEqual([260]);
  });

  it("spells other characters in UTF-8", () => {
    expect(encode(makeModel(), "é字😀")).toEqual([...Buffer.from("é字😀")].map((byte) => byte + 3));
  });

  it("drops bytes that are no tokens, and merges across them", () => {
    const { tokenOffsets, tokenBytes } = smallArtifact();
    const without = Uint8Array.from(tokenBytes);
    without[tokenOffsets[id("x")] ?? 0] = 0x79;
    expect(encode(makeModel({ tokenBytes: without }), "axb")).toEqual([259]);
    const keeps = makeModel({ tokenBytes: without, keepsUnknownBytes: true });
    expect(encode(keeps, "axb")).toEqual([id("a"), id("b")]);
    expect(encode(keeps, "axb".repeat(100))).toHaveLength(200);
  });

  it("merges words of any length alike", () => {
    const model = makeModel();
    for (const count of [10, 40, 50, 200, 20_000]) {
      expect(encode(model, "abc".repeat(count))).toEqual(new Array(count).fill(260));
    }
  });
});
