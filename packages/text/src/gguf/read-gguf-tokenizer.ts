import { byteOfCharacter } from "../artifact/byte-alphabet.ts";
import { endOfGenerationIds } from "../artifact/end-of-generation.ts";
import { layOutTokens } from "../artifact/token-list.ts";
import type {
  AddedToken,
  PreTokenizer,
  TokenizerArtifact,
} from "../artifact/tokenizer-artifact.ts";
import { TokenByteTable } from "../bpe/token-byte-table.ts";
import { deepSeekV3Rules, type PreTokenizerFamily } from "../scan/split-rules.ts";
import { decodeUtf8 } from "../stream/decode-utf8.ts";
import { TokenizerFormatError } from "../tokenizer-format-error.ts";
import { NeedMoreBytes } from "./gguf-cursor.ts";
import { type GgufFacts, readFacts } from "./gguf-facts.ts";
import { type GgufMetadata, readMetadata } from "./read-metadata.ts";

/** What llama.cpp does with a pre-tokenizer of a certain name. */
interface PreTokenizerRule {
  readonly preTokenizer: PreTokenizer;
  readonly ignoreMerges: boolean;
  /** Whether BOS is put in front where the file does not say. */
  readonly addsBos: boolean;
}

/** Only names whose ids were found equal to llama.cpp's. */
const preTokenizers: Readonly<Record<string, PreTokenizerRule>> = {
  "gpt-2": { preTokenizer: family("gpt-2"), ignoreMerges: false, addsBos: false },
  smollm: { preTokenizer: family("smollm"), ignoreMerges: false, addsBos: false },
  "llama-bpe": { preTokenizer: family("llama-3"), ignoreMerges: true, addsBos: true },
  qwen2: { preTokenizer: family("qwen-2"), ignoreMerges: false, addsBos: false },
  qwen35: { preTokenizer: family("qwen-3.5"), ignoreMerges: false, addsBos: false },
  "gpt-4o": { preTokenizer: family("gpt-4o"), ignoreMerges: false, addsBos: false },
  tekken: { preTokenizer: family("tekken"), ignoreMerges: true, addsBos: true },
  "deepseek-v3": {
    preTokenizer: { kind: "rules", rules: deepSeekV3Rules },
    ignoreMerges: false,
    addsBos: false,
  },
};

function family(name: PreTokenizerFamily): PreTokenizer {
  return { kind: "family", family: name };
}

const unknownType = 2;
const controlType = 3;
const userDefinedType = 4;
const space = 0x20;

/** The tokenizer of a GGUF file, or how much more of the file is needed to read it. */
export type GgufTokenizerResult =
  | {
      readonly kind: "read";
      readonly artifact: TokenizerArtifact;
      readonly facts: GgufFacts;
      /** How many bytes at the beginning of the file were needed. */
      readonly metadataBytes: number;
    }
  /** A lower bound: doubling what was given asks less often. */
  | { readonly kind: "need-more-bytes"; readonly atLeastBytes: number };

/**
 * Makes an artifact from the first bytes of a GGUF file: the metadata, a few MB.
 *
 * Ids equal llama.cpp's, which does not normalize. Throws `TokenizerFormatError` naming the key for a tokenizer of
 * another kind. Takes 20 to 35 ms: not for an event loop that serves.
 */
export function readGgufTokenizer(bytes: Uint8Array): GgufTokenizerResult {
  try {
    const metadata = readMetadata(bytes);
    return {
      kind: "read",
      artifact: readArtifact(metadata, bytes),
      facts: readFacts(metadata),
      metadataBytes: metadata.byteLength,
    };
  } catch (error) {
    if (error instanceof NeedMoreBytes) {
      return { kind: "need-more-bytes", atLeastBytes: error.atLeastBytes };
    }
    throw error;
  }
}

function readArtifact(metadata: GgufMetadata, bytes: Uint8Array): TokenizerArtifact {
  const rule = readRule(metadata);
  const { tokens, addedTokens } = readTokens(metadata, bytes);
  const laidOut = layOutTokens(tokens, tokens.length);
  const id = (name: string) => readId(metadata, `tokenizer.ggml.${name}`, tokens.length);
  const bosId = id("bos_token_id");
  const eosId = id("eos_token_id");
  const addsBos = metadata.boolean("tokenizer.ggml.add_bos_token") ?? rule.addsBos;
  const addsEos = metadata.boolean("tokenizer.ggml.add_eos_token") ?? false;
  return {
    ...laidOut,
    merges: readMerges(metadata, bytes, laidOut.tokenBytes, laidOut.tokenOffsets),
    ignoreMerges: rule.ignoreMerges,
    addedTokens,
    preTokenizer: rule.preTokenizer,
    normalizer: "none",
    keepsUnknownBytes: true,
    prefixIds: addsBos && bosId !== null ? [bosId] : [],
    suffixIds: addsEos && eosId !== null ? [eosId] : [],
    bosId,
    eosId,
    endOfGenerationIds: endOfGenerationIds(
      [eosId, id("eot_token_id"), id("eom_token_id")],
      addedTokens.filter((token) => token.special),
    ),
    chatTemplate: metadata.string("tokenizer.chat_template") ?? null,
  };
}

function readRule(metadata: GgufMetadata): PreTokenizerRule {
  const model = metadata.string("tokenizer.ggml.model");
  if (model !== "gpt2") {
    throw new TokenizerFormatError(
      "tokenizer.ggml.model",
      `${model ?? "none"} is not supported, only gpt2 (byte-level BPE)`,
    );
  }
  const pre = metadata.string("tokenizer.ggml.pre") ?? "none";
  const rule = Object.hasOwn(preTokenizers, pre) ? preTokenizers[pre] : undefined;
  if (rule === undefined) {
    const names = Object.keys(preTokenizers).join(", ");
    throw new TokenizerFormatError("tokenizer.ggml.pre", `${pre} is not supported, only ${names}`);
  }
  return rule;
}

function readTokens(
  metadata: GgufMetadata,
  bytes: Uint8Array,
): { readonly tokens: readonly Uint8Array[]; readonly addedTokens: readonly AddedToken[] } {
  const types = metadata.numbers("tokenizer.ggml.token_type") ?? [];
  const tokens: Uint8Array[] = [];
  const addedTokens: AddedToken[] = [];
  const found = metadata.visitStrings("tokenizer.ggml.tokens", (id, from, to) => {
    const type = types[id] ?? 1;
    const raw = bytes.subarray(from, to);
    if (type === controlType || type === userDefinedType || type === unknownType) {
      const content = decodeUtf8(raw, raw.length).text;
      addedTokens.push({ id, content, special: type !== userDefinedType, normalized: false });
      tokens.push(raw);
    } else {
      tokens.push(bytesOfAlphabetText(bytes, from, to) ?? raw);
    }
  });
  if (!found) {
    throw new TokenizerFormatError("tokenizer.ggml.tokens", "missing");
  }
  return { tokens, addedTokens };
}

/** Reads UTF-8 in the byte alphabet, whose characters take one or two bytes. Undefined if there is any other. */
function bytesOfAlphabetText(bytes: Uint8Array, from: number, to: number): Uint8Array | undefined {
  const text = new Uint8Array(to - from);
  let length = 0;
  for (let at = from; at < to; at += 1) {
    const first = bytes[at]!;
    let character = first;
    if (first >= 0xc2 && first < 0xe0) {
      at += 1;
      character = ((first & 0x1f) << 6) | (bytes[at]! & 0x3f);
    } else if (first >= 0x80) {
      return undefined;
    }
    const byte = byteOfCharacter(character);
    if (byte === undefined) {
      return undefined;
    }
    text[length] = byte;
    length += 1;
  }
  return text.subarray(0, length);
}

function readMerges(
  metadata: GgufMetadata,
  bytes: Uint8Array,
  tokenBytes: Uint8Array,
  tokenOffsets: Uint32Array,
): Uint32Array {
  const table = new TokenByteTable(tokenBytes, tokenOffsets);
  for (let id = 0; id + 1 < tokenOffsets.length; id += 1) {
    table.insert(id);
  }
  const merges: number[] = [];
  const found = metadata.visitStrings("tokenizer.ggml.merges", (rank, from, to) => {
    const middle = bytes.indexOf(space, from);
    const isPair = middle >= from && middle < to;
    const leftId = isPair ? findText(table, bytes, from, middle) : -1;
    const rightId = isPair ? findText(table, bytes, middle + 1, to) : -1;
    if (leftId < 0 || rightId < 0) {
      throw new TokenizerFormatError(`tokenizer.ggml.merges[${rank}]`, "not a pair of tokens");
    }
    merges.push(leftId, rightId);
  });
  if (!found) {
    throw new TokenizerFormatError("tokenizer.ggml.merges", "missing");
  }
  return Uint32Array.from(merges);
}

/** The id of the token written in the byte alphabet in `bytes[from, to)`; -1 if there is none. */
function findText(table: TokenByteTable, bytes: Uint8Array, from: number, to: number): number {
  const text = bytesOfAlphabetText(bytes, from, to);
  return text === undefined ? -1 : table.find(text, 0, text.length);
}

function readId(metadata: GgufMetadata, key: string, size: number): number | null {
  const id = metadata.number(key);
  if (id !== undefined && id >= size) {
    throw new TokenizerFormatError(key, `${id} is no id of a vocabulary of ${size}`);
  }
  return id ?? null;
}
