import { createHash } from "node:crypto";
import { encodeTokenizerArtifact } from "@baton/text";

/** The id of the mark that ends a turn. */
export const turnEndId = 256;

/** A tokenizer whose tokens are the 256 bytes and one mark, with a template that writes roles. */
export function byteArtifact(chatTemplate: string | null = defaultTemplate): Uint8Array {
  const mark = new TextEncoder().encode("<end>");
  return encodeTokenizerArtifact({
    tokenBytes: Uint8Array.of(...Array.from({ length: 256 }, (_, byte) => byte), ...mark),
    tokenOffsets: Uint32Array.of(...Array.from({ length: 257 }, (_, id) => id), 256 + mark.length),
    merges: new Uint32Array(),
    ignoreMerges: false,
    addedTokens: [{ id: turnEndId, content: "<end>", special: true, normalized: false }],
    preTokenizer: { kind: "family", family: "gpt-2" },
    normalizer: "none",
    prefixIds: [],
    suffixIds: [],
    bosId: null,
    eosId: turnEndId,
    endOfGenerationIds: [turnEndId],
    chatTemplate,
  });
}

const defaultTemplate =
  "{% for message in messages %}{{ message.role }}:{{ message.content }}<end>{% endfor %}";

/** The hex SHA-256 by which cards name an artifact. */
export function checksumOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
