import { pack, unpack } from "@baton/protocol";
import { describe, expect, it } from "vitest";
import {
  decodeTokenizerArtifact,
  encodeTokenizerArtifact,
  type TokenizerArtifact,
  TokenizerFormatError,
} from "../../src/index.ts";
import { smallArtifact } from "../support/small-artifact.ts";

function fieldOf(changes: Record<string, unknown>): string {
  const map = unpack(encodeTokenizerArtifact(smallArtifact())) as Record<string, unknown>;
  try {
    decodeTokenizerArtifact(pack({ ...map, ...changes }));
  } catch (error) {
    if (error instanceof TokenizerFormatError) {
      return error.field;
    }
    throw error;
  }
  return "accepted";
}

describe("the compact form", () => {
  it.each<[string, Partial<TokenizerArtifact>]>([
    ["as it is", {}],
    ["of another family", { preTokenizer: { kind: "family", family: "o200k" }, normalizer: "nfc" }],
    [
      "with rules",
      {
        preTokenizer: {
          kind: "rules",
          rules: [
            { kind: "digits", individual: true },
            { kind: "pattern", source: "\\s+" },
          ],
        },
      },
    ],
    [
      "without special ids",
      { bosId: null, eosId: null, chatTemplate: null, endOfGenerationIds: [] },
    ],
    ["with surroundings", { prefixIds: [0, 1], suffixIds: [2], ignoreMerges: true }],
  ])("reads back %s", (_, changes) => {
    const artifact = { ...smallArtifact(), ...changes };
    expect(decodeTokenizerArtifact(encodeTokenizerArtifact(artifact))).toEqual(artifact);
  });

  it("has the same bytes for the same tokenizer", () => {
    expect(encodeTokenizerArtifact(smallArtifact())).toEqual(
      encodeTokenizerArtifact(smallArtifact()),
    );
  });

  it.each<[string, Record<string, unknown>]>([
    ["format", { format: "something else" }],
    ["version", { version: 2 }],
    ["tokenBytes", { tokenBytes: "text" }],
    ["tokenLengths", { tokenLengths: Uint8Array.of(1, 1) }],
    ["tokenLengths", { tokenLengths: Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff) }],
    ["merges", { merges: Uint8Array.of(1, 0, 2) }],
    ["merges", { merges: Uint8Array.of(1, 0, 0xff, 0xff) }],
    ["ignoreMerges", { ignoreMerges: 1 }],
    ["added", { added: 3 }],
    ["added[0]", { added: [[1, "a"]] }],
    [
      "added[1]",
      {
        added: [
          [1, "a", 0],
          [9999, "b", 0],
        ],
      },
    ],
    ["preTokenizer", { preTokenizer: "llama-9" }],
    ["preTokenizer", { preTokenizer: [["digits", 1]] }],
    ["normalizer", { normalizer: "nfkc" }],
    ["prefixIds", { prefixIds: [-1] }],
    ["suffixIds", { suffixIds: [1.5] }],
    ["bosId", { bosId: "1" }],
    ["eosId", { eosId: 9999 }],
    ["endOfGenerationIds", { endOfGenerationIds: [9999] }],
    ["chatTemplate", { chatTemplate: 1 }],
  ])("refuses a wrong %s and names it", (field, changes) => {
    expect(fieldOf(changes)).toBe(field);
  });

  it("refuses what is no msgpack map", () => {
    for (const bytes of [pack([1, 2]), Uint8Array.of(0xc1), new Uint8Array()]) {
      expect(() => decodeTokenizerArtifact(bytes)).toThrow(/^format: /);
    }
  });
});
