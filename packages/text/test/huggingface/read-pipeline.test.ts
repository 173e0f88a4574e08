import { describe, expect, it } from "vitest";
import {
  checkDecoder,
  readNormalizer,
  readPostProcessor,
  readPreTokenizer,
} from "../../src/huggingface/read-pipeline.ts";
import { preTokenizerFamilies } from "../../src/scan/split-rules.ts";
import { preTokenizerJson } from "../support/tokenizer-json.ts";

const byteLevel = { type: "ByteLevel", add_prefix_space: false, use_regex: false };

function sequence(...pretokenizers: readonly unknown[]): unknown {
  return { type: "Sequence", pretokenizers };
}

function split(changes: Record<string, unknown>): unknown {
  return sequence(
    { type: "Split", behavior: "Isolated", pattern: { Regex: "a" }, ...changes },
    byteLevel,
  );
}

describe("readPreTokenizer", () => {
  it.each(preTokenizerFamilies)("recognizes %s", (family) => {
    expect(readPreTokenizer(preTokenizerJson(family))).toEqual({ kind: "family", family });
  });

  it("takes plain ByteLevel for GPT-2, and keeps other rules", () => {
    expect(readPreTokenizer({ type: "ByteLevel", add_prefix_space: false })).toEqual({
      kind: "family",
      family: "gpt-2",
    });
    expect(readPreTokenizer(byteLevel)).toEqual({ kind: "rules", rules: [] });
    expect(readPreTokenizer(split({ pattern: { String: "a.b" } }))).toEqual({
      kind: "rules",
      rules: [{ kind: "pattern", source: "a\\.b" }],
    });
    expect(
      readPreTokenizer(
        sequence({ type: "Sequence", pretokenizers: [{ type: "Digits" }] }, byteLevel),
      ),
    ).toEqual({
      kind: "rules",
      rules: [{ kind: "digits", individual: false }],
    });
  });

  it.each<[string, unknown]>([
    ["pre_tokenizer", null],
    ["pre_tokenizer.type", { type: "Metaspace" }],
    ["pre_tokenizer.type", sequence()],
    ["pre_tokenizer.type", sequence({ type: "Whitespace" }, byteLevel)],
    ["pre_tokenizer.pretokenizers", sequence(byteLevel, byteLevel)],
    ["pre_tokenizer.add_prefix_space", { type: "ByteLevel" }],
    ["pre_tokenizer.add_prefix_space", { type: "ByteLevel", add_prefix_space: true }],
    ["pre_tokenizer.behavior", split({ behavior: "Removed" })],
    ["pre_tokenizer.pattern", split({ pattern: "a" })],
    ["pre_tokenizer.pattern", split({ pattern: { Regex: "\\p{Han}+" } })],
  ])("refuses a wrong %s and names it", (field, value) => {
    expect(() => readPreTokenizer(value)).toThrow(`${field}: `);
  });
});

describe("readNormalizer", () => {
  it("knows none, NFC and sequences of those", () => {
    expect(readNormalizer(null)).toBe("none");
    expect(readNormalizer({ type: "NFC" })).toBe("nfc");
    expect(readNormalizer({ type: "Sequence", normalizers: [] })).toBe("none");
    expect(readNormalizer({ type: "Sequence", normalizers: [{ type: "NFC" }] })).toBe("nfc");
  });

  it("refuses others", () => {
    expect(() => readNormalizer({ type: "NFKC" })).toThrow(/^normalizer\.type: "NFKC"/);
    expect(() =>
      readNormalizer({ type: "Sequence", normalizers: [{ type: "Lowercase" }] }),
    ).toThrow(/^normalizer/);
  });
});

describe("checkDecoder", () => {
  it("takes ByteLevel only", () => {
    expect(() => checkDecoder({ type: "ByteLevel" })).not.toThrow();
    expect(() =>
      checkDecoder({ type: "Sequence", decoders: [{ type: "ByteLevel" }, { type: "Fuse" }] }),
    ).not.toThrow();
    expect(() => checkDecoder({ type: "Metaspace" })).toThrow(/^decoder\.type: /);
    expect(() => checkDecoder(null)).toThrow(/^decoder: /);
  });
});

describe("readPostProcessor", () => {
  const template = {
    type: "TemplateProcessing",
    single: [
      { SpecialToken: { id: "<s>", type_id: 0 } },
      { Sequence: { id: "A", type_id: 0 } },
      { SpecialToken: { id: "</s>", type_id: 0 } },
    ],
    special_tokens: { "<s>": { ids: [7, 8] }, "</s>": { ids: [9] } },
  };

  it("reads what stands around a text", () => {
    const none = { prefixIds: [], suffixIds: [] };
    expect(readPostProcessor(null)).toEqual(none);
    expect(readPostProcessor({ type: "ByteLevel", trim_offsets: false })).toEqual(none);
    expect(readPostProcessor(template)).toEqual({ prefixIds: [7, 8], suffixIds: [9] });
    expect(
      readPostProcessor({ type: "Sequence", processors: [{ type: "ByteLevel" }, template] }),
    ).toEqual({
      prefixIds: [7, 8],
      suffixIds: [9],
    });
  });

  it("refuses others, and templates of unknown tokens", () => {
    expect(() => readPostProcessor({ type: "BertProcessing" })).toThrow(/^post_processor\.type: /);
    expect(() => readPostProcessor({ ...template, special_tokens: {} })).toThrow(
      /^post_processor\.special_tokens: /,
    );
  });
});
