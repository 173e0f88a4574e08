import { describe, expect, it } from "vitest";
import {
  readGgufTokenizer,
  type TokenizerArtifact,
  TokenizerFormatError,
} from "../../src/index.ts";
import { buildGguf, type GgufInput } from "../support/gguf-builder.ts";
import { ggufValues } from "../support/gguf-model.ts";
import { smallArtifact } from "../support/small-artifact.ts";

const expected = smallArtifact({
  preTokenizer: { kind: "family", family: "smollm" },
  keepsUnknownBytes: true,
});

function read(changes: Readonly<Record<string, GgufInput>> = {}): TokenizerArtifact {
  const result = readGgufTokenizer(buildGguf({ ...ggufValues(expected), ...changes }));
  if (result.kind !== "read") {
    throw new Error(result.kind);
  }
  return result.artifact;
}

function without(key: string): Uint8Array {
  const { [key]: _, ...rest } = ggufValues(expected);
  return buildGguf(rest);
}

function refusedField(bytes: Uint8Array): string {
  try {
    readGgufTokenizer(bytes);
  } catch (error) {
    if (error instanceof TokenizerFormatError) {
      return error.field;
    }
    throw error;
  }
  return "accepted";
}

describe("the tokenizer of a GGUF file", () => {
  it("is the one that was written", () => {
    expect(read()).toEqual(expected);
  });

  it.each([
    ["gpt-2", "gpt-2", false, []],
    ["smollm", "smollm", false, []],
    ["llama-bpe", "llama-3", true, [0]],
    ["qwen2", "qwen-2", false, []],
    ["qwen35", "qwen-3.5", false, []],
    ["gpt-4o", "gpt-4o", false, []],
    ["tekken", "tekken", true, [0]],
  ] as const)("follows the pre-tokenizer name %s", (pre, family, ignoreMerges, prefixIds) => {
    const artifact = read({ "tokenizer.ggml.pre": { type: "string", value: pre } });
    expect(artifact.preTokenizer).toEqual({ kind: "family", family });
    expect(artifact).toMatchObject({ ignoreMerges, prefixIds, normalizer: "none" });
  });

  it("cuts words by rules for deepseek-v3", () => {
    const artifact = read({ "tokenizer.ggml.pre": { type: "string", value: "deepseek-v3" } });
    expect(artifact.preTokenizer).toMatchObject({ kind: "rules", rules: { length: 3 } });
  });

  it("puts BOS and EOS around a text where the file says so", () => {
    const flag: GgufInput = { type: "bool", value: true };
    expect(
      read({ "tokenizer.ggml.add_bos_token": flag, "tokenizer.ggml.add_eos_token": flag }),
    ).toMatchObject({
      prefixIds: [0],
      suffixIds: [1],
    });
    expect(
      read({
        "tokenizer.ggml.pre": { type: "string", value: "llama-bpe" },
        "tokenizer.ggml.add_bos_token": { type: "bool", value: false },
      }).prefixIds,
    ).toEqual([]);
  });

  it("ends a generation at every id that the file names", () => {
    const artifact = read({
      "tokenizer.ggml.eot_token_id": { type: "u32", value: 50 },
      "tokenizer.ggml.eom_token_id": { type: "u32", value: 51 },
    });
    expect(artifact.endOfGenerationIds).toEqual([1, 2, 50, 51]);
  });

  it("takes user-defined tokens for text and unknown ones for marks", () => {
    const types = Array.from({ length: 263 }, (_, id) => (id === 0 ? 4 : id === 1 ? 2 : 1));
    const { addedTokens } = read({ "tokenizer.ggml.token_type": { type: "i32s", value: types } });
    expect(addedTokens.map(({ id, special }) => [id, special])).toEqual([
      [0, false],
      [1, true],
    ]);
  });

  it("may lack template, BOS and types", () => {
    for (const key of [
      "tokenizer.chat_template",
      "tokenizer.ggml.bos_token_id",
      "tokenizer.ggml.token_type",
    ]) {
      expect(refusedField(without(key))).toBe("accepted");
    }
  });
});

describe("the facts of a GGUF file", () => {
  it("come with the tokenizer", () => {
    const bytes = buildGguf(ggufValues(expected));
    expect(readGgufTokenizer(bytes)).toMatchObject({
      metadataBytes: bytes.length,
      facts: { architecture: "llama", contextLength: 2048, layers: 4, kvHeads: 4, keyLength: 8 },
    });
  });
});

describe("the first bytes of a GGUF file", () => {
  it("say how many more are needed, never wrong and never too many", () => {
    const whole = buildGguf(ggufValues(expected));
    for (let length = 0; length < whole.length; length += 1) {
      const result = readGgufTokenizer(whole.subarray(0, length));
      expect(result.kind).toBe("need-more-bytes");
      if (result.kind === "need-more-bytes") {
        expect(result.atLeastBytes).toBeGreaterThan(length);
        expect(result.atLeastBytes).toBeLessThanOrEqual(whole.length);
      }
    }
    expect(readGgufTokenizer(Buffer.concat([whole, Buffer.alloc(100)])).kind).toBe("read");
  });
});

describe("refusals", () => {
  it.each<[string, Record<string, GgufInput>]>([
    ["tokenizer.ggml.model", { "tokenizer.ggml.model": { type: "string", value: "llama" } }],
    ["tokenizer.ggml.model", { "tokenizer.ggml.model": { type: "u32", value: 1 } }],
    ["tokenizer.ggml.pre", { "tokenizer.ggml.pre": { type: "string", value: "toString" } }],
    [
      "tokenizer.ggml.bos_token_id",
      { "tokenizer.ggml.bos_token_id": { type: "u32", value: 9999 } },
    ],
    [
      "tokenizer.ggml.bos_token_id",
      { "tokenizer.ggml.bos_token_id": { type: "string", value: "<s>" } },
    ],
    ["tokenizer.ggml.add_bos_token", { "tokenizer.ggml.add_bos_token": { type: "u32", value: 1 } }],
    ["tokenizer.ggml.tokens", { "tokenizer.ggml.tokens": { type: "i32s", value: [1] } }],
    ["tokenizer.ggml.tokens", { "tokenizer.ggml.tokens": { type: "string", value: "a" } }],
    [
      "tokenizer.ggml.merges[1]",
      { "tokenizer.ggml.merges": { type: "strings", value: ["a b", "a qq"] } },
    ],
    ["tokenizer.ggml.merges[0]", { "tokenizer.ggml.merges": { type: "strings", value: ["ab"] } }],
  ])("name %s", (field, changes) => {
    expect(refusedField(buildGguf({ ...ggufValues(expected), ...changes }))).toBe(field);
  });

  it.each([
    "tokenizer.ggml.model",
    "tokenizer.ggml.pre",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.merges",
  ])("name %s if it is missing", (key) => {
    expect(refusedField(without(key))).toBe(key);
  });
});
