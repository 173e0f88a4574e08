import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { characterOfByte } from "../../src/artifact/byte-alphabet.ts";
import { tokenBytesOf } from "../../src/artifact/tokenizer-artifact.ts";
import {
  decodeTokenizerArtifact,
  type PreTokenizerFamily,
  readTokenizerFolder,
  type TokenizerArtifact,
  vocabularySize,
} from "../../src/index.ts";
import { splitRulesOf } from "../../src/scan/split-rules.ts";

/** A tokenizer.json as parsed JSON that tests may change. */
export type TokenizerJson = Record<string, unknown> & { model: Record<string, unknown> };

const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true };

/** A tokenizer with 3,000 tokens in the plainest form: ByteLevel alone, trained on source code. */
export function readMakeModelJson(): TokenizerJson {
  const path = new URL("../fixtures/make-model-tokenizer.json.gz", import.meta.url);
  return JSON.parse(gunzipSync(readFileSync(path)).toString("utf8")) as TokenizerJson;
}

/** What stands beside that tokenizer.json. */
export const makeModelConfig = {
  bos_token: "<|im_start|>",
  eos_token: "<|im_end|>",
  unk_token: "<|endoftext|>",
  chat_template:
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}" +
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
} as const;

/** The artifact of that tokenizer. */
export function readMakeModelArtifact(): TokenizerArtifact {
  return readTokenizerFolder({
    tokenizerJson: readMakeModelJson(),
    tokenizerConfig: makeModelConfig,
    generationConfig: { bos_token_id: 1, eos_token_id: 2, pad_token_id: 0 },
  });
}

/** The tokenizer that the package ships: SmolLM2's. */
export function readDefaultArtifact(): TokenizerArtifact {
  const path = new URL("../../assets/default-tokenizer.bin", import.meta.url);
  return decodeTokenizerArtifact(readFileSync(path));
}

/** A `pre_tokenizer` of a tokenizer.json, as the model families write it. */
export function preTokenizerJson(family: PreTokenizerFamily): Record<string, unknown> {
  const rules = splitRulesOf(family);
  const pretokenizers = rules.flatMap((rule): Record<string, unknown>[] => {
    if (rule.kind === "digits") {
      return [{ type: "Digits", individual_digits: rule.individual }];
    }
    // The pattern of GPT-2 is part of ByteLevel itself.
    const isGpt2 = rule.source === splitRulesOf("gpt-2").map(sourceOf)[0];
    return isGpt2
      ? [{ ...byteLevel, use_regex: true }]
      : [
          { type: "Split", pattern: { Regex: rule.source }, behavior: "Isolated", invert: false },
          { ...byteLevel, use_regex: false },
        ];
  });
  return { type: "Sequence", pretokenizers };
}

function sourceOf(rule: ReturnType<typeof splitRulesOf>[number]): string {
  return rule.kind === "pattern" ? rule.source : "";
}

/** Variants of the small tokenizer: what it becomes with parts of other models. */
export const variants: Readonly<Record<string, (json: TokenizerJson) => TokenizerJson>> = {
  "NFC and the words of Qwen": (json) => ({
    ...json,
    normalizer: { type: "NFC" },
    pre_tokenizer: preTokenizerJson("qwen-2"),
  }),
  "BOS, whole words and the words of Llama 3": (json) => ({
    ...json,
    model: { ...json.model, ignore_merges: true },
    pre_tokenizer: preTokenizerJson("llama-3"),
    post_processor: {
      type: "Sequence",
      processors: [
        { type: "ByteLevel", add_prefix_space: true, trim_offsets: false, use_regex: true },
        {
          type: "TemplateProcessing",
          single: [
            { SpecialToken: { id: "<|endoftext|>", type_id: 0 } },
            { Sequence: { id: "A", type_id: 0 } },
            { SpecialToken: { id: "<|im_end|>", type_id: 0 } },
          ],
          pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
          special_tokens: {
            "<|endoftext|>": { id: "<|endoftext|>", ids: [0], tokens: ["<|endoftext|>"] },
            "<|im_end|>": { id: "<|im_end|>", ids: [2], tokens: ["<|im_end|>"] },
          },
        },
      ],
    },
  }),
  "the words of o200k and added tokens in normalized text": (json) => ({
    ...json,
    normalizer: { type: "Sequence", normalizers: [{ type: "NFC" }] },
    pre_tokenizer: preTokenizerJson("o200k"),
    added_tokens: [
      ...(json.added_tokens as unknown[]),
      {
        id: 3000,
        content: "e\u0301",
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: true,
        special: false,
      },
      {
        id: 3001,
        content: "Hello world",
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: false,
      },
      {
        id: 3002,
        content: "Hello",
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: true,
        special: true,
      },
    ],
  }),
  "patterns that have no scanner": (json) => ({
    ...json,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: "\\p{N}{1,3}" }, behavior: "Isolated", invert: false },
        {
          type: "Split",
          pattern: { Regex: "[一-龥぀-ゟ゠-ヿ]+" },
          behavior: "Isolated",
          invert: false,
        },
        {
          type: "Split",
          pattern: {
            Regex:
              "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
          },
          behavior: "Isolated",
          invert: false,
        },
        { ...byteLevel, use_regex: false },
      ],
    },
  }),
  "possessive quantifiers and digits together": (json) => ({
    ...json,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Digits", individual_digits: false },
        {
          type: "Split",
          pattern: {
            Regex:
              "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s*[\\r\\n]|\\s+(?!\\S)|\\s",
          },
          behavior: "Isolated",
          invert: false,
        },
        { ...byteLevel, use_regex: false },
      ],
    },
  }),
};

/** A tokenizer.json that says what an artifact says, for the reference to read. */
export function tokenizerJsonOf(artifact: TokenizerArtifact): Record<string, unknown> {
  const added = new Map(artifact.addedTokens.map((token) => [token.id, token.content]));
  const texts = Array.from(
    { length: vocabularySize(artifact) },
    (_, id) => added.get(id) ?? Array.from(tokenBytesOf(artifact, id), characterOfByte).join(""),
  );
  const merges = Array.from({ length: artifact.merges.length / 2 }, (_, rank) => [
    texts[artifact.merges[rank * 2]!],
    texts[artifact.merges[rank * 2 + 1]!],
  ]);
  if (artifact.preTokenizer.kind !== "family" || artifact.normalizer !== "none") {
    throw new Error("only for families without a normalizer");
  }
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: artifact.addedTokens.map((token) => ({
      ...token,
      single_word: false,
      lstrip: false,
      rstrip: false,
    })),
    normalizer: null,
    pre_tokenizer: preTokenizerJson(artifact.preTokenizer.family),
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: artifact.ignoreMerges,
      vocab: Object.fromEntries(texts.map((text, id) => [text, id])),
      merges,
    },
  };
}
