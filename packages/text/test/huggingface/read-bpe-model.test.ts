import { describe, expect, it } from "vitest";
import { tokenBytesOf, vocabularySize } from "../../src/artifact/tokenizer-artifact.ts";
import { readBpeModel } from "../../src/huggingface/read-bpe-model.ts";
import { readTokenizerFolder, type TokenizerFolder } from "../../src/index.ts";
import { readMakeModelJson, type TokenizerJson } from "../support/tokenizer-json.ts";

const model = { type: "BPE", vocab: { a: 0, b: 1, ab: 2, Ġa: 3, Ġ: 4 }, merges: ["a b", "Ġ a"] };

function added(changes: Record<string, unknown>): Record<string, unknown> {
  return { model, added_tokens: [{ id: 5, content: "<x>", special: true, ...changes }] };
}

describe("readBpeModel", () => {
  it("reads tokens, merges as text or pairs, and added tokens behind the vocabulary", () => {
    const pairs = {
      ...model,
      merges: [
        ["a", "b"],
        ["Ġ", "a"],
      ],
    };
    const read = readBpeModel({ ...added({ content: "<｜x｜>", id: 7 }), model });
    expect([...read.merges]).toEqual([0, 1, 4, 0]);
    expect(readBpeModel({ model: pairs }).merges).toEqual(read.merges);
    expect(read.addedTokens).toEqual([
      { id: 7, content: "<｜x｜>", special: true, normalized: false },
    ]);
    expect(read.tokenOffsets).toHaveLength(9);
  });

  it("reads bytes through the alphabet where it can, else as UTF-8", () => {
    const artifact = readTokenizerFolder({
      tokenizerJson: {
        ...readMakeModelJson(),
        ...{ added_tokens: [{ id: 3000, content: "Ġ｜", special: true }] },
      },
    } satisfies TokenizerFolder);
    expect(vocabularySize(artifact)).toBe(3001);
    expect(Buffer.from(tokenBytesOf(artifact, 3000)).toString()).toBe("Ġ｜");
    const { tokenBytes } = readBpeModel({ model });
    expect(Buffer.from(tokenBytes).toString()).toBe("abab a ");
  });

  it.each<[string, Record<string, unknown>]>([
    ["model", {}],
    ["model.type", { model: { ...model, type: "Unigram" } }],
    ["model.type", { model: { vocab: {} } }],
    ["model.dropout", { model: { ...model, dropout: 0.1 } }],
    ["model.byte_fallback", { model: { ...model, byte_fallback: true } }],
    ["model.continuing_subword_prefix", { model: { ...model, continuing_subword_prefix: "##" } }],
    ["model.end_of_word_suffix", { model: { ...model, end_of_word_suffix: "</w>" } }],
    ["model.unk_token", { model: { ...model, unk_token: "a" } }],
    ['model.vocab["a"]', { model: { ...model, vocab: { a: -1 } } }],
    ["model.merges", { model: { ...model, merges: {} } }],
    ["model.merges[0]", { model: { ...model, merges: ["a c"] } }],
    ["model.merges[0]", { model: { ...model, merges: ["b a"] } }],
    ["model.merges[1]", { model: { ...model, merges: ["a b", "a b c"] } }],
    ["added_tokens[0].lstrip", added({ lstrip: true })],
    ["added_tokens[0].rstrip", added({ rstrip: true })],
    ["added_tokens[0].single_word", added({ single_word: true })],
    ["added_tokens[0].content", added({ content: 1 })],
    ["added_tokens[0].id", added({ id: "5" })],
    ["added_tokens[0].id", added({ id: 2 })],
    ["added_tokens[0].id", added({ id: 3, content: "ab" })],
  ])("refuses a wrong %s and names it", (field, root) => {
    expect(() => readBpeModel(root)).toThrow(`${field}: `);
  });

  it("takes an unknown token for harmless if every byte is a token", () => {
    const json: TokenizerJson = readMakeModelJson();
    expect(
      readBpeModel({ ...json, model: { ...json.model, unk_token: "<|endoftext|>" } }).addedTokens,
    ).toHaveLength(3);
  });
});
