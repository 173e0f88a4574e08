import type { GgufMetadata } from "./read-metadata.ts";

/** What a GGUF file says about its model, beside the tokenizer. */
export interface GgufFacts {
  readonly architecture: string;
  readonly name: string | null;
  /** The longest context that the model was trained for, in tokens. */
  readonly contextLength: number | null;
  readonly layers: number | null;
  readonly heads: number | null;
  /** Heads of the KV cache; the largest, if layers differ. */
  readonly kvHeads: number | null;
  readonly embeddingLength: number | null;
  /** Numbers per head of a key and of a value. */
  readonly keyLength: number | null;
  readonly valueLength: number | null;
  /** llama.cpp's number of the quantization. */
  readonly fileType: number | null;
}

/** Reads the facts. Those that the file does not give are null. */
export function readFacts(metadata: GgufMetadata): GgufFacts {
  const architecture = metadata.string("general.architecture") ?? "";
  const number = (key: string) => readNumber(metadata, `${architecture}.${key}`);
  const heads = number("attention.head_count");
  const embeddingLength = number("embedding_length");
  const headLength = heads !== null && embeddingLength !== null ? embeddingLength / heads : null;
  return {
    architecture,
    name: metadata.string("general.name") ?? null,
    contextLength: number("context_length"),
    layers: number("block_count"),
    heads,
    kvHeads: number("attention.head_count_kv") ?? heads,
    embeddingLength,
    keyLength: number("attention.key_length") ?? headLength,
    valueLength: number("attention.value_length") ?? headLength,
    fileType: metadata.number("general.file_type") ?? null,
  };
}

/** A number, or the largest of an array with one per layer. */
function readNumber(metadata: GgufMetadata, key: string): number | null {
  if (typeof metadata.values.get(key) === "object") {
    return metadata.numbers(key)?.reduce((most, value) => Math.max(most, value), 0) ?? null;
  }
  return metadata.number(key) ?? null;
}
