import { characterOfByte } from "../../src/artifact/byte-alphabet.ts";
import { tokenBytesOf } from "../../src/artifact/tokenizer-artifact.ts";
import { type TokenizerArtifact, vocabularySize } from "../../src/index.ts";
import type { GgufInput } from "./gguf-builder.ts";

/** The metadata of a small model whose tokenizer is this artifact. */
export function ggufValues(artifact: TokenizerArtifact): Record<string, GgufInput> {
  const added = new Map(artifact.addedTokens.map((token) => [token.id, token]));
  const ids = Array.from({ length: vocabularySize(artifact) }, (_, id) => id);
  const tokens = ids.map(
    (id) =>
      added.get(id)?.content ?? Array.from(tokenBytesOf(artifact, id), characterOfByte).join(""),
  );
  const typeOf = (id: number) => {
    const token = added.get(id);
    return token === undefined ? 1 : token.special ? 3 : 4;
  };
  const merges = Array.from({ length: artifact.merges.length / 2 }, (_, rank) =>
    [artifact.merges[rank * 2] ?? 0, artifact.merges[rank * 2 + 1] ?? 0]
      .map((id) => tokens[id])
      .join(" "),
  );
  return {
    "general.architecture": { type: "string", value: "llama" },
    "general.name": { type: "string", value: "Small" },
    "general.file_type": { type: "u32", value: 3 },
    "llama.context_length": { type: "u32", value: 2048 },
    "llama.block_count": { type: "u32", value: 4 },
    "llama.embedding_length": { type: "u32", value: 64 },
    "llama.attention.head_count": { type: "u32", value: 8 },
    "llama.attention.head_count_kv": { type: "i32s", value: [2, 4, 2, 2] },
    "llama.rope.freq_base": { type: "f32", value: 10_000 },
    "tokenizer.ggml.model": { type: "string", value: "gpt2" },
    "tokenizer.ggml.pre": { type: "string", value: "smollm" },
    "tokenizer.ggml.tokens": { type: "strings", value: tokens },
    "tokenizer.ggml.token_type": { type: "i32s", value: ids.map(typeOf) },
    "tokenizer.ggml.merges": { type: "strings", value: merges },
    "tokenizer.ggml.bos_token_id": { type: "u32", value: 0 },
    "tokenizer.ggml.eos_token_id": { type: "u32", value: 1 },
    "tokenizer.chat_template": { type: "string", value: artifact.chatTemplate ?? "" },
  };
}
